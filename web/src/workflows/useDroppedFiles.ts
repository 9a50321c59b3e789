/** Files dropped anywhere on the page. Dragging within the page (links, text) is left alone. */
import { onScopeDispose, ref } from 'vue'

export function useDroppedFiles(take: (files: File[]) => void) {
  const dragging = ref(false)
  const abort = new AbortController()
  const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') === true

  function listen(name: 'dragover' | 'dragleave' | 'drop', handler: (event: DragEvent) => void) {
    addEventListener(name, handler, { signal: abort.signal })
  }
  listen('dragover', (event) => {
    if (!hasFiles(event) || document.querySelector('dialog[open]')) return
    event.preventDefault()
    dragging.value = true
  })
  listen('dragleave', (event) => { if (event.relatedTarget === null) dragging.value = false })
  listen('drop', (event) => {
    if (!dragging.value) return
    event.preventDefault()
    dragging.value = false
    take([...event.dataTransfer?.files ?? []])
  })
  onScopeDispose(() => { abort.abort() })
  return { dragging }
}
