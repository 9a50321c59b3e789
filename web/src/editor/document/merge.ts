/**
 * Two people (or two tabs) changed what one had opened: what differs, and both changes in one document. Pure.
 *
 * Each thing (a node, an edge, a setting of the workflow) is compared with the common base. What one side changed is
 * taken; what both changed differently is a clash, which a person decides.
 */
import type { GraphEdge, GraphNode } from '@/api/types'
import { sameJson, type GraphDocument } from './document'

export type Side = 'mine' | 'saved'
export type ThingKind = 'node' | 'edge' | 'head'

export interface Difference {
  readonly kind: ThingKind
  readonly id: string
  readonly base: unknown
  readonly mine: unknown
  readonly saved: unknown
  /** Who changed it; both is a clash unless the changes are equal. */
  readonly changedBy: Side | 'both'
}

const keysOf = (...maps: ReadonlyMap<string, unknown>[]) => [...new Set(maps.flatMap(map => [...map.keys()]))]

function compare(kind: ThingKind, base: ReadonlyMap<string, unknown>, mine: ReadonlyMap<string, unknown>, saved: ReadonlyMap<string, unknown>): Difference[] {
  return keysOf(base, mine, saved).flatMap((id) => {
    const [was, own, other] = [base.get(id), mine.get(id), saved.get(id)]
    if (sameJson(own, other)) return []
    const [byMe, byOther] = [!sameJson(was, own), !sameJson(was, other)]
    return [{ kind, id, base: was, mine: own, saved: other, changedBy: byMe && byOther ? 'both' : byMe ? 'mine' : 'saved' }]
  })
}

const headMap = (document: GraphDocument) => new Map(Object.entries(document.head))

export function differences(base: GraphDocument, mine: GraphDocument, saved: GraphDocument): Difference[] {
  return [
    ...compare('head', headMap(base), headMap(mine), headMap(saved)),
    ...compare('node', base.nodes, mine.nodes, saved.nodes),
    ...compare('edge', base.edges, mine.edges, saved.edges),
  ]
}

export const keyOf = (difference: Pick<Difference, 'kind' | 'id'>) => `${difference.kind} ${difference.id}`

/** Which side each thing is taken from, where nothing was chosen: whoever changed it, and one's own in a clash. */
export function usualChoice(difference: Difference): Side {
  return difference.changedBy === 'saved' ? 'saved' : 'mine'
}

function taken<T>(kind: ThingKind, saved: ReadonlyMap<string, T>, mine: ReadonlyMap<string, T>, found: readonly Difference[], choices: ReadonlyMap<string, Side>): Map<string, T> {
  const merged = new Map(saved)
  for (const difference of found) {
    if (difference.kind !== kind || (choices.get(keyOf(difference)) ?? usualChoice(difference)) === 'saved') continue
    const own = mine.get(difference.id)
    if (own === undefined) merged.delete(difference.id)
    else merged.set(difference.id, own)
  }
  return merged
}

/** The stored document with what was chosen of one's own in it. An edge whose node is gone goes too. */
export function merged(base: GraphDocument, mine: GraphDocument, saved: GraphDocument, choices: ReadonlyMap<string, Side> = new Map()): GraphDocument {
  const found = differences(base, mine, saved)
  const nodes: ReadonlyMap<string, GraphNode> = taken('node', saved.nodes, mine.nodes, found, choices)
  const edges = taken<GraphEdge>('edge', saved.edges, mine.edges, found, choices)
  for (const [id, edge] of edges) if (!nodes.has(edge.source) || !nodes.has(edge.target)) edges.delete(id)
  const head = Object.freeze(Object.fromEntries(taken('head', headMap(saved), headMap(mine), found, choices)))
  return { ...saved, head, nodes, edges }
}

/** The fields in which two things differ: `userPrompt`, `position`. */
export function differingFields(a: unknown, b: unknown): string[] {
  const flat = (value: unknown): Record<string, unknown> => {
    if (typeof value !== 'object' || value === null) return {}
    const { data, ...rest } = value as Record<string, unknown>
    return { ...rest, ...(typeof data === 'object' && data !== null ? data as Record<string, unknown> : {}) }
  }
  const [left, right] = [flat(a), flat(b)]
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].filter(key => !sameJson(left[key], right[key]))
}
