/** What every node of one canvas shares: provided by the canvas, read by the shells. */
import { inject, type InjectionKey, type Ref } from 'vue'
import type { NodeType } from '@/api/types'

export interface ProblemCount { readonly errors: number, readonly warnings: number }
export type DiffMark = 'added' | 'removed' | 'changed' | 'moved'

export interface CanvasContext {
  readonly types: Readonly<Ref<ReadonlyMap<string, NodeType>>>
  readonly readOnly: Readonly<Ref<boolean>>
  readonly problems: Readonly<Ref<ReadonlyMap<string, ProblemCount>>>
  readonly marks: Readonly<Ref<ReadonlyMap<string, DiffMark>>>
  /** Handles by which edges leave a node, those included that it has no longer. */
  readonly handlesInUse: Readonly<Ref<ReadonlyMap<string, readonly string[]>>>
  /** While an edge is being drawn: why it may not end at a node. */
  readonly refused: Readonly<Ref<ReadonlyMap<string, string> | undefined>>
  readonly isValid: (connection: { source: string, sourceHandle?: string | null | undefined, target: string }) => boolean
  readonly focus: (nodeId: string) => void
  readonly key: (event: KeyboardEvent, nodeId: string) => void
  readonly openProblems: (nodeId: string) => void
  readonly answer: (nodeId: string) => void
  readonly openStop: (nodeId: string, n: number) => void
}

export const CANVAS: InjectionKey<CanvasContext> = Symbol('canvas')

export function useCanvas(): CanvasContext {
  const context = inject(CANVAS)
  if (!context) throw new Error('A node is drawn outside a canvas.')
  return context
}
