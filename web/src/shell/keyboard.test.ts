import { describe, expect, it } from 'vitest'
import type { Command } from './commands'
import { createKeyboard } from './keyboard'

function press(key: string, held: { ctrlKey?: boolean } = {}) {
  return { key, code: '', metaKey: false, ctrlKey: false, altKey: false, shiftKey: false, ...held }
}
function command(id: string, keys: string): Command {
  return { id, keys, label: id, group: 'test', run: () => undefined }
}
const here = { typing: false, singleKeys: true, atMs: 0 }

describe('the keyboard', () => {
  const commands = [command('bar', 'mod+k'), command('workflows', 'g w'), command('wide', 'w'), command('near', 'mod+k')]

  it('plays the nearest of two commands with the same keys', () => {
    expect(createKeyboard().press(press('k', { ctrlKey: true }), commands, here)?.id).toBe('near')
  })
  it('plays a sequence when both keys come in time', () => {
    const keyboard = createKeyboard()
    expect(keyboard.press(press('g'), commands, here)).toBeUndefined()
    expect(keyboard.press(press('w'), commands, { ...here, atMs: 600 })?.id).toBe('workflows')
  })
  it('forgets the first key of a sequence after a while', () => {
    const keyboard = createKeyboard()
    keyboard.press(press('g'), commands, here)
    expect(keyboard.press(press('w'), commands, { ...here, atMs: 2000 })?.id).toBe('wide')
  })
  it('leaves letters to a field, but not ⌘ and Ctrl', () => {
    const typing = { ...here, typing: true }
    expect(createKeyboard().press(press('w'), commands, typing)).toBeUndefined()
    expect(createKeyboard().press(press('k', { ctrlKey: true }), commands, typing)?.id).toBe('near')
  })
  it('plays no single letters when they are switched off', () => {
    expect(createKeyboard().press(press('w'), commands, { ...here, singleKeys: false })).toBeUndefined()
  })
})
