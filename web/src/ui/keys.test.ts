import { describe, expect, it } from 'vitest'
import { keyCaps, needsNoModifier, parseKeys, plays } from './keys'

function press(key: string, held: Partial<Record<'metaKey' | 'ctrlKey' | 'altKey' | 'shiftKey', boolean>> = {}, code = '') {
  return { key, code, metaKey: false, ctrlKey: false, altKey: false, shiftKey: false, ...held }
}
const chord = (keys: string) => parseKeys(keys)[0] ?? { mod: false, alt: false, shift: false, key: '' }

describe('a shortcut', () => {
  it('takes ⌘ on Apple machines and Ctrl elsewhere', () => {
    expect(plays(chord('mod+k'), press('k', { metaKey: true }), true)).toBe(true)
    expect(plays(chord('mod+k'), press('k', { ctrlKey: true }), false)).toBe(true)
    expect(plays(chord('mod+k'), press('k', { ctrlKey: true }), true)).toBe(false)
  })
  it('is not played with a key too many', () => {
    expect(plays(chord('n'), press('n', { altKey: true }), false)).toBe(false)
    expect(plays(chord('mod+z'), press('Z', { ctrlKey: true, shiftKey: true }), false)).toBe(false)
  })
  it('takes a shifted sign as the sign', () => {
    expect(plays(chord('?'), press('?', { shiftKey: true }), false)).toBe(true)
  })
  it('takes a shifted digit by its place', () => {
    expect(plays(chord('shift+1'), press('!', { shiftKey: true }, 'Digit1'), false)).toBe(true)
  })
  it('is shown as key caps', () => {
    expect(keyCaps('shift+mod+enter', true)).toEqual(['⌘', '⇧', '↵'])
    expect(keyCaps('g w', false)).toEqual(['G', 'W'])
  })
  it('without ⌘ or Ctrl gives way to typing', () => {
    expect(needsNoModifier('g w')).toBe(true)
    expect(needsNoModifier('mod+enter')).toBe(false)
  })
})
