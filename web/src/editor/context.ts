/** What the parts of the editor share: the places a person can be led to, and the services of the page. */
import { inject, type InjectionKey, type Ref } from 'vue'
import type { NodeType } from '@/api/types'
import type { Place } from './document/commands'
import type { Problem } from './useValidation'

/** Where a new node goes, and what it is joined to. */
export interface Adding {
  readonly at?: Place
  readonly pointer?: { x: number, y: number }
  readonly from?: { source: string, sourceHandle: string | null }
}

export interface EditorContext {
  readonly types: Readonly<Ref<ReadonlyMap<string, NodeType>>>
  readonly problems: Readonly<Ref<readonly Problem[]>>
  readonly isOpen: Readonly<Ref<boolean>>
  /** Opens the form of a node, and brings the node and, if named, the field into view. */
  readonly show: (nodeId: string, field?: string | null) => void
  readonly add: (adding?: Adding) => void
  readonly showProblems: (nodeId?: string) => void
  readonly showDetails: (field?: string) => void
  /** The field that the form is to lead to. */
  readonly wanted: Ref<{ nodeId: string, field: string } | undefined>
  /** The side of a node's form that is shown. */
  readonly side: Ref<'settings' | 'test'>
  /** Stores what is not stored yet; false, with the reason said, where that cannot be. */
  readonly saveFirst: () => Promise<boolean>
}

export const EDITOR: InjectionKey<EditorContext> = Symbol('editor')

export function useEditor(): EditorContext {
  const editor = inject(EDITOR)
  if (!editor) throw new Error('A part of the editor stands outside it.')
  return editor
}
