/**
 * What a run tells the canvas about each node, and how it gets there.
 *
 * The run is no part of the drawing: whoever shows one provides a map under `RUN_STATE`, and each node's
 * shell reads its own cell alone, so that one change of status renders one node. Replace a cell's value to
 * change it; replace the map only when another run is shown. No map, or `undefined`, means no run.
 */
import type { InjectionKey, Ref, ShallowRef } from 'vue'
import type { Status } from '@/ui/status'

export type StopKind = 'drawn' | 'jump' | 'failed' | 'now' | 'waits' | 'selected' | 'later'

/** A stop of the route: visit number `n` (from 1) at this node. */
export interface Stop { readonly n: number, readonly kind: StopKind }

export interface NodeRunState {
  readonly status: Status
  /** The last value, the question that waits, or the text that is forming (newest kept). */
  readonly text?: string
  /** First line of the error. */
  readonly error?: string
  /** How often the node was visited; shown from two on. */
  readonly iter?: number
  /** Small figures of a stream (`412 tok`, `38 tok/s`), and how long it takes so far. */
  readonly figures?: readonly string[]
  readonly elapsed?: string
  readonly stops: readonly Stop[]
}

export type NodeRunCell = ShallowRef<NodeRunState>
export type RunStateMap = ReadonlyMap<string, NodeRunCell>

export const RUN_STATE: InjectionKey<Readonly<Ref<RunStateMap | undefined>>> = Symbol('run state of the nodes')
