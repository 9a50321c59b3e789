/** Which dialog of the editor is open: one at a time. */
import { shallowRef } from 'vue'
import type { Workflow } from '@/api/types'
import type { Adding } from './context'

export type EditorDialog =
  | { kind: 'palette', at: { x: number, y: number }, adding: Adding }
  | { kind: 'connect', source: string }
  | { kind: 'conflict', current: Workflow }
  | { kind: 'publish' }
  | { kind: 'restorePoint' }
  | { kind: 'run', workflow: Workflow }
  | { kind: 'menu', at: { x: number, y: number }, place: { x: number, y: number } }

export function useEditorDialogs() {
  const dialog = shallowRef<EditorDialog>()
  return { dialog, open: (next: EditorDialog) => { dialog.value = next }, close: () => { dialog.value = undefined } }
}
