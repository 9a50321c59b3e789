import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readJson } from '@/api/json'
import { editOf, newEdit, readEdits, retyped } from './forkForm'

const none = new Set<string>()

describe('variables edited for a fork', () => {
  it('say the same as before when nothing was typed, whatever they are', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => {
      const plain = readJson(JSON.stringify(value))
      expect(readEdits([editOf('a__b', plain)], new Set(['a__b'])).variables).toEqual({ a__b: plain })
    }))
  })
  it('keep a text as it is, also where it looks like something else', () => {
    expect(readEdits([{ ...editOf('n', 'x'), text: '42' }, { ...editOf('m', 1), text: '42' }], none).variables).toEqual({ n: '42', m: 42 })
  })
  it('tell by their place what does not fit', () => {
    const { faults } = readEdits([{ ...editOf('a', {}), text: '{' }, newEdit, { ...newEdit, name: 'b' }, { ...newEdit, name: 'c' }, { ...newEdit, name: 'c' }], new Set(['b']))
    expect([...faults]).toEqual([[0, 'json'], [1, 'nameless'], [2, 'twice'], [4, 'twice']])
  })
  it('can be typed the other way and back', () => {
    const edit = editOf('a', 'he said "go"')
    expect(retyped(edit)).toEqual({ ...edit, isText: false, text: '"he said \\"go\\""' })
    expect(retyped(retyped(edit))).toEqual(edit)
    expect(retyped({ ...editOf('a', [1]) }).text).toBe('[\n  1\n]')
  })
})
