/** Listens for the keys of the registered commands, once for the whole page. Held back while a dialog is open. */
import { onScopeDispose } from 'vue'
import { useCommandStore } from './commands'
import { createKeyboard, takesTyping } from './keyboard'
import { usePreferences } from './preferences'

export function useKeyboard() {
  const store = useCommandStore()
  const preferences = usePreferences()
  const keyboard = createKeyboard()

  function onKey(event: KeyboardEvent) {
    if (event.defaultPrevented || event.isComposing || ['Shift', 'Control', 'Alt', 'Meta'].includes(event.key)) return
    if (document.querySelector('dialog[open]')) return
    const command = keyboard.press(event, store.commands, {
      typing: takesTyping(document.activeElement), singleKeys: preferences.chosen.singleKeys, atMs: event.timeStamp,
    })
    if (!command) return
    event.preventDefault()
    command.run()
  }

  addEventListener('keydown', onKey)
  onScopeDispose(() => { removeEventListener('keydown', onKey) })
}
