/** Which edges may be drawn, and why another may not. Pure. */
import { handlesOf, OUTPUT_HANDLE, sourceHandleOf, traitsOf } from '@/canvas/handles'
import type { GraphEdge, NodeType } from '@/api/types'
import { modeOf, type GraphDocument } from './document'

export interface Connection { readonly source: string, readonly sourceHandle?: string | null, readonly target: string }
export type Refusal = 'missing' | 'noWayOut' | 'noWayIn' | 'handle' | 'exists' | 'self' | 'cycle'
export type Types = ReadonlyMap<string, NodeType>

function leadsTo(edges: Iterable<GraphEdge>, from: string, to: string): boolean {
  const next = new Map<string, string[]>()
  for (const edge of edges) next.set(edge.source, [...next.get(edge.source) ?? [], edge.target])
  const seen = new Set([from])
  const queue = [from]
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    if (id === to) return true
    for (const target of next.get(id) ?? []) if (!seen.has(target)) { seen.add(target); queue.push(target) }
  }
  return false
}

/** Why this edge may not be drawn; nothing where it may. */
export function refusalOf(document: GraphDocument, types: Types, connection: Connection): Refusal | undefined {
  const source = document.nodes.get(connection.source)
  const target = document.nodes.get(connection.target)
  if (!source || !target) return 'missing'
  const sourceTraits = traitsOf(types.get(source.type))
  if (sourceTraits.isEnd || sourceTraits.isNote) return 'noWayOut'
  if (traitsOf(types.get(target.type)).isNote) return 'noWayIn'
  const handle = connection.sourceHandle ?? OUTPUT_HANDLE
  if (!handlesOf(source, types.get(source.type)).some(({ id }) => id === handle)) return 'handle'
  for (const edge of document.edges.values()) {
    if (edge.source === connection.source && edge.target === connection.target && sourceHandleOf(edge) === handle) return 'exists'
  }
  if (modeOf(document) === 'AGENTIC') return undefined
  if (connection.source === connection.target) return 'self'
  return leadsTo(document.edges.values(), connection.target, connection.source) ? 'cycle' : undefined
}

/** Every node with why an edge from this handle may not end there. */
export function refusals(document: GraphDocument, types: Types, source: string, sourceHandle?: string | null): Map<string, Refusal> {
  const found = new Map<string, Refusal>()
  for (const target of document.nodes.keys()) {
    const refusal = refusalOf(document, types, { source, sourceHandle: sourceHandle ?? null, target })
    if (refusal) found.set(target, refusal)
  }
  return found
}
