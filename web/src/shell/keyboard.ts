/**
 * Plays commands by their keys. Pure: the browser's part is `useKeyboard`.
 *
 * A sequence (`g w`) must be finished within 1.2 s. Keys without ⌘ or Ctrl are left alone while the focus is
 * in a field, and when single-letter keys are switched off.
 */
import { needsNoModifier, parseKeys, plays } from '@/ui/keys'
import type { Command } from './commands'

export interface Circumstances { typing: boolean, singleKeys: boolean, atMs: number }

const SEQUENCE_MS = 1200

type KeyPress = Pick<KeyboardEvent, 'key' | 'code' | 'metaKey' | 'ctrlKey' | 'altKey' | 'shiftKey'>

const SINGLE = /^[a-z0-9?/[\]]$/i

export function createKeyboard() {
  let before: { press: KeyPress, atMs: number } | undefined

  /** The command that this press plays, if any; the first of a sequence plays none and is remembered. */
  function press(event: KeyPress, commands: readonly Command[], now: Circumstances): Command | undefined {
    const recent = before && now.atMs - before.atMs < SEQUENCE_MS ? before.press : undefined
    before = { press: event, atMs: now.atMs }
    const usable = commands.filter(command => command.keys !== undefined && !command.disabled).reverse()
    const fits = (steps: number) => usable.find(command => command.keys?.split('|').some(keys => played(keys, steps, recent, event, now)))
    const command = (recent && fits(2)) ?? fits(1)
    if (command) before = undefined
    return command
  }

  return { press }
}

function played(keys: string, steps: number, recent: KeyPress | undefined, event: KeyPress, now: Circumstances): boolean {
  const chords = parseKeys(keys)
  if (chords.length !== steps) return false
  if (now.typing && needsNoModifier(keys)) return false
  if (!now.singleKeys && chords.every(chord => !chord.mod && !chord.alt && SINGLE.test(chord.key))) return false
  const [first, second] = chords
  if (steps === 2) return first !== undefined && second !== undefined && recent !== undefined && plays(first, recent) && plays(second, event)
  return first !== undefined && plays(first, event)
}

/** Is this element one that takes typing? */
export function takesTyping(element: Element | null): boolean {
  if (!(element instanceof HTMLElement)) return false
  if (element.isContentEditable || element instanceof HTMLTextAreaElement || element instanceof HTMLSelectElement) return true
  return element instanceof HTMLInputElement && !['checkbox', 'radio', 'button', 'submit', 'range', 'color', 'file'].includes(element.type)
}
