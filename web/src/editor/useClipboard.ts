/** Copy, cut and paste of nodes by the browser's own events, as JSON text: between tabs, and into any text editor. */
import { onScopeDispose } from 'vue'
import { takesTyping } from '@/shell/keyboard'
import { readClipboard, type Copied } from './document/clipboard'

interface Deeds {
  copied: () => string | undefined
  cut: () => void
  paste: (copied: Copied) => void
}

/** Text that a person has marked on the page is theirs to copy. */
const isElsewhere = () => takesTyping(document.activeElement) || document.querySelector('dialog[open]') !== null || !(getSelection()?.isCollapsed ?? true)

export function useClipboard({ copied, cut, paste }: Deeds) {
  function onCopy(event: ClipboardEvent) {
    const text = isElsewhere() ? undefined : copied()
    if (text === undefined) return
    event.clipboardData?.setData('text/plain', text)
    event.preventDefault()
    if (event.type === 'cut') cut()
  }
  function onPaste(event: ClipboardEvent) {
    if (takesTyping(document.activeElement) || document.querySelector('dialog[open]')) return
    const found = readClipboard(event.clipboardData?.getData('text/plain') ?? '')
    if (!found) return
    event.preventDefault()
    paste(found)
  }
  addEventListener('copy', onCopy)
  addEventListener('cut', onCopy)
  addEventListener('paste', onPaste)
  onScopeDispose(() => {
    removeEventListener('copy', onCopy)
    removeEventListener('cut', onCopy)
    removeEventListener('paste', onPaste)
  })
}
