// @vitest-environment happy-dom
import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { effectScope, ref } from 'vue'
import { useCommands } from './commands'
import { usePreferences } from './preferences'
import { useKeyboard } from './useKeyboard'

function press(key: string, held: KeyboardEventInit = {}) {
  const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...held })
  ;(document.activeElement ?? document.body).dispatchEvent(event)
  return event
}

describe('the keys of the page', () => {
  beforeEach(() => {
    localStorage.clear()
    document.body.innerHTML = ''
    setActivePinia(createPinia())
  })

  it('play the commands of what is on the page, for as long as it is', () => {
    const run = vi.fn()
    const scope = effectScope()
    const shell = effectScope()
    shell.run(() => { useKeyboard() })
    scope.run(() => { useCommands(() => [{ id: 'a', label: 'a', keys: 'n', group: 'g', run }]) })
    expect(press('n').defaultPrevented).toBe(true)
    scope.stop()
    press('n')
    expect(run).toHaveBeenCalledTimes(1)
    shell.stop()
  })
  it('follow commands that change', () => {
    const run = vi.fn()
    const isThere = ref(false)
    const scope = effectScope()
    scope.run(() => {
      useKeyboard()
      useCommands(() => [{ id: 'a', label: 'a', keys: 'mod+enter', group: 'g', disabled: !isThere.value, run }])
    })
    press('Enter', { ctrlKey: true })
    isThere.value = true
    press('Enter', { ctrlKey: true })
    expect(run).toHaveBeenCalledTimes(1)
    scope.stop()
  })
  it('leave letters alone in a field, in a dialog, and when they are switched off', () => {
    const run = vi.fn()
    const scope = effectScope()
    scope.run(() => {
      useKeyboard()
      useCommands(() => [{ id: 'a', label: 'a', keys: 'n', group: 'g', run }])
    })
    document.body.innerHTML = '<input>'
    document.querySelector('input')?.focus()
    press('n')
    document.body.innerHTML = '<dialog open></dialog>'
    press('n')
    document.body.innerHTML = ''
    usePreferences().chosen.singleKeys = false
    press('n')
    expect(run).not.toHaveBeenCalled()
    scope.stop()
  })
})
