/**
 * Keeps edges with their branches. Pure.
 *
 * `branch-0` is IF, the next numbers the ELIFs, the number after the last ELSE: handles are positions, so a list that
 * changes moves the edges of its node. An edge of a branch that is gone goes with it; ELSE's edges stay ELSE's.
 */
import { branchHandle, branchIndex, sourceHandleOf } from '@/canvas/handles'
import type { GraphEdge } from '@/api/types'

/** For each branch of the new list its place in the old one; a new branch has none. */
export type Origins = readonly (number | undefined)[]

export function movedEdges(edges: ReadonlyMap<string, GraphEdge>, nodeId: string, oldCount: number, origins: Origins): ReadonlyMap<string, GraphEdge> {
  const place = new Map(origins.flatMap((origin, index) => (origin === undefined ? [] : [[origin, index] as const])))
  place.set(oldCount, origins.length)
  const moved = new Map<string, GraphEdge>()
  for (const [id, edge] of edges) {
    const index = edge.source === nodeId ? branchIndex(sourceHandleOf(edge)) : undefined
    if (index === undefined || index > oldCount) {
      moved.set(id, edge)
      continue
    }
    const now = place.get(index)
    if (now !== undefined) moved.set(id, now === index ? edge : Object.freeze({ ...edge, sourceHandle: branchHandle(now) }))
  }
  return moved
}

/** The first branch is IF, every other ELIF. */
export function retyped(branches: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  return branches.map((branch, index) => ({ ...branch, type: index === 0 ? 'IF' : 'ELIF' }))
}
