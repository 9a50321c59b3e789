import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { diffTexts, diffValues, hunks, sideOf, words } from './diff'

const whole = (pieces: readonly { text: string }[]) => pieces.map(piece => piece.text).join('')

describe('the difference of two texts', () => {
  it('marks the words that changed', () => {
    expect(diffTexts('Come to our summer party, all of you!', 'Come to our summer party on Friday, all of you!')).toEqual([
      { text: 'Come to our summer party', kind: 'same' }, { text: ' on Friday', kind: 'new' }, { text: ', all of you!', kind: 'same' },
    ])
  })
  it('compares Chinese by words', () => {
    expect(diffTexts('数据概览与风险', '数据概览').filter(piece => piece.kind !== 'same').map(piece => piece.text).join('')).toBe('与风险')
  })
  it('gives both texts back, whatever they are', () => {
    const text = fc.oneof(fc.string({ maxLength: 60 }), fc.array(fc.constantFrom('a', 'b ', 'c\n', '大', '纲 '), { maxLength: 40 }).map(parts => parts.join('')))
    fc.assert(fc.property(text, text, (before, after) => {
      const pieces = diffTexts(before, after)
      expect(whole(sideOf(pieces, 'before'))).toBe(before)
      expect(whole(sideOf(pieces, 'after'))).toBe(after)
      if (before === after) expect(pieces.every(piece => piece.kind === 'same')).toBe(true)
    }))
  })
  it('compares long and quite different texts without end', () => {
    const [a, b] = [Array.from({ length: 40_000 }, (_, n) => `w${n * 7919 % 9973} `).join(''), Array.from({ length: 40_000 }, (_, n) => `w${n * 6007 % 9967} `).join('')]
    const pieces = diffTexts(a, b)
    expect(whole(sideOf(pieces, 'after'))).toBe(b)
  })
  it('cuts long unchanged stretches to what stands around a change', () => {
    const long = 'x '.repeat(2000)
    const shown = hunks(diffTexts(`${long}old ${long}`, `${long}new ${long}`))
    expect(shown.map(part => ('hidden' in part ? 'gap' : part.kind))).toEqual(['gap', 'same', 'gone', 'new', 'same', 'gap'])
    const hidden = shown.reduce((sum, part) => sum + ('hidden' in part ? part.hidden : part.kind === 'new' ? 0 : part.text.length), 0)
    expect(hidden).toBe(2 * long.length + 4)
  })
  it('cuts a text into words without losing a sign', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => { expect(words(text).join('')).toBe(text) }))
  })
})

describe('the difference of two values', () => {
  it('names the paths that differ and counts those that do not', () => {
    expect(diffValues({ a: 1, list: ['x', 'y'], gone: true }, { a: 1, list: ['x', 'z', 'w'], more: null })).toEqual({
      same: 2,
      changes: [{ path: 'list[1]', before: 'y', after: 'z' }, { path: 'list[2]', after: 'w' }, { path: 'gone', before: true }, { path: 'more', after: null }],
    })
  })
  it('tells integers apart that a number would not', () => {
    expect(diffValues({ id: 9007199254740993n }, { id: 9007199254740992n }).changes).toEqual([{ path: 'id', before: 9007199254740993n, after: 9007199254740992n }])
    expect(diffValues({ id: 9007199254740993n }, { id: 9007199254740993n }).changes).toEqual([])
  })
  it('finds nothing in a value and itself', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => { expect(diffValues(value, structuredClone(value)).changes).toEqual([]) }))
  })
})
