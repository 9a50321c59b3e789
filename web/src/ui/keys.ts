/**
 * Keyboard shortcuts as text: `mod+k`, `shift+mod+enter`, `g w` (one after the other), `?`.
 *
 * `mod` is ⌘ on Apple machines and Ctrl elsewhere. A shifted sign (`?`) is written as the sign itself.
 */

export interface Chord { mod: boolean, alt: boolean, shift: boolean, key: string }

const isApple = typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.platform)

export function parseKeys(keys: string): Chord[] {
  return keys.split(' ').map((step) => {
    const parts = step.split('+').filter(part => part !== '')
    const key = step.endsWith('+') ? '+' : parts.at(-1) ?? ''
    return { mod: parts.includes('mod'), alt: parts.includes('alt'), shift: parts.includes('shift'), key: key.toLowerCase() }
  })
}

type KeyPress = Pick<KeyboardEvent, 'key' | 'code' | 'metaKey' | 'ctrlKey' | 'altKey' | 'shiftKey'>

/** Does this press play this chord? A letter pressed with Alt is told by its place, since Alt changes the sign. */
export function plays(chord: Chord, press: KeyPress, apple = isApple): boolean {
  const mod = apple ? press.metaKey : press.ctrlKey
  if (mod !== chord.mod || press.altKey !== chord.alt) return false
  const isSign = chord.key.length === 1 && !/[a-z0-9]/.test(chord.key)
  if (!isSign && press.shiftKey !== chord.shift) return false
  if (press.key.toLowerCase() === chord.key) return true
  return (chord.alt || chord.shift) && press.code === (/[0-9]/.test(chord.key) ? `Digit${chord.key}` : `Key${chord.key.toUpperCase()}`)
}

/** Single keys without ⌘ or Ctrl are letters to type while the focus is in a field. */
export function needsNoModifier(keys: string): boolean {
  return parseKeys(keys).every(chord => !chord.mod && chord.key !== 'escape')
}

const CAPS: Record<string, string> = {
  enter: '↵', escape: 'Esc', arrowup: '↑', arrowdown: '↓', arrowleft: '←', arrowright: '→',
  backspace: '⌫', delete: '⌦', space: 'Space', tab: 'Tab', home: 'Home', end: 'End',
}

/** The key caps to show, one each. */
export function keyCaps(keys: string, apple = isApple): string[] {
  return parseKeys(keys).flatMap((chord) => {
    const caps: string[] = []
    if (chord.mod) caps.push(apple ? '⌘' : 'Ctrl')
    if (chord.alt) caps.push(apple ? '⌥' : 'Alt')
    if (chord.shift) caps.push('⇧')
    return [...caps, CAPS[chord.key] ?? chord.key.toUpperCase()]
  })
}
