import { describe, expect, it } from 'vitest'
import { best, marked, recentFirst, score } from './search'

describe('the command bar', () => {
  it('finds what holds every word', () => {
    expect(score('Write draft', 'dra wri')).toBeDefined()
    expect(score('Write draft', 'draft x')).toBeUndefined()
  })
  it('puts a word that begins with the query first', () => {
    expect(best(['Redraft', 'The draft', 'Draft'], 'draft', text => text, 2)).toEqual(['Draft', 'The draft'])
  })
  it('finds Chinese words', () => {
    expect(best(['周报助手', '论文'], '助手', text => text, 5)).toEqual(['周报助手'])
  })
  it('puts what was chosen lately first', () => {
    expect(recentFirst(['a', 'b', 'c'], ['c', 'x'], id => id)).toEqual(['c', 'a', 'b'])
  })
  it('marks what was hit', () => {
    expect(marked('Write draft', '@dra')).toEqual([{ text: 'Write ', hit: false }, { text: 'dra', hit: true }, { text: 'ft', hit: false }])
  })
})
