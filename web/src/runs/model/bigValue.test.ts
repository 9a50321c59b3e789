import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { beginningOf, flatRows, signsOf } from './bigValue'

const plain = fc.jsonValue()

describe('a big value', () => {
  it('is counted no further than asked', () => {
    expect(signsOf('x'.repeat(1000), 50)).toBe(50)
    expect(signsOf(Array.from({ length: 1_000_000 }, () => 'x'), 100)).toBe(100)
    expect(signsOf({ a: [1, 'two'] }, 1000)).toBeGreaterThan(5)
  })
  it('begins as its JSON begins', () => {
    fc.assert(fc.property(plain, (value) => { expect(beginningOf(value, 1e6)).toBe(JSON.stringify(value)) }))
    expect(beginningOf({ list: Array.from({ length: 1_000_000 }, (_, n) => n) }, 20).slice(0, 20)).toBe('{"list":[0,1,2,3,4,5')
  })
  it('is rows: those of the open branches, in order, with their depth', () => {
    const value = { a: { b: [1, { c: 2 }] }, d: 'x' }
    expect(flatRows(value, new Set()).map(row => row.path)).toEqual(['a', 'd'])
    expect(flatRows(value, new Set(['a', 'a.b'])).map(row => [row.path, row.depth])).toEqual([['a', 0], ['a.b', 1], ['a.b[0]', 2], ['a.b[1]', 2], ['d', 0]])
    // What is open inside of what is closed is not shown.
    expect(flatRows(value, new Set(['a.b'])).map(row => row.path)).toEqual(['a', 'd'])
  })
})
