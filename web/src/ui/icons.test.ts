import { describe, expect, it } from 'vitest'
import { nodeIcon } from './icons'

describe('the icon of a node', () => {
  it('is the one that its type names', () => {
    expect(nodeIcon('http', 'globe')).toBe('globe')
    expect(nodeIcon('somebodys', 'branch')).toBe('branch')
  })
  it('is that of the type’s id where no icon is named, or one that is not drawn here', () => {
    expect(nodeIcon('llm')).toBe('sparkles')
    expect(nodeIcon('code', 'unheard-of')).toBe('code')
  })
  it('is that of any tool where nothing is known, whatever the name', () => {
    expect(nodeIcon('somebodys', 'constructor')).toBe('tool')
    expect(nodeIcon('toString')).toBe('tool')
  })
})
