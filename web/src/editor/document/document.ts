/**
 * The document that is edited: a workflow as maps of frozen nodes and edges. Pure.
 *
 * Nothing in it is ever changed in place, so that two documents share what they have in common, and Vue does not
 * look into it. What cannot be drawn (a node without an id, a second node of the same id) is kept and saved again.
 */
import { readGraph } from '@/api/graph'
import type { GraphData, GraphEdge, GraphNode, Mode } from '@/api/types'

/** Everything of a workflow but its drawing: name, mode, limits, and keys that only their author knows. */
export type Head = Readonly<Record<string, unknown>>

export interface GraphDocument {
  readonly head: Head
  readonly nodes: ReadonlyMap<string, GraphNode>
  readonly edges: ReadonlyMap<string, GraphEdge>
  /** Other keys of the drawing, and what of its lists cannot be drawn. */
  readonly rest: Readonly<Record<string, unknown>>
  readonly undrawn: { readonly nodes: readonly unknown[], readonly edges: readonly unknown[] }
}

const SERVER_OWNED = new Set(['id', 'revision', 'createdAt', 'updatedAt', 'graphData'])

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(deepFreeze)
  }
  return value
}

function byId<T extends { id: string }>(items: readonly T[]): Map<string, T> {
  const map = new Map<string, T>()
  for (const item of items) if (!map.has(item.id)) map.set(item.id, deepFreeze(item))
  return map
}

/** What stands in the list as it came and is not among what was read of it. */
function leftOver(list: unknown, read: ReadonlyMap<string, { id: string }>): unknown[] {
  if (!Array.isArray(list)) return []
  const seen = new Set<string>()
  return list.filter((item: unknown) => {
    const id: unknown = typeof item === 'object' && item !== null ? (item as Record<string, unknown>)['id'] : undefined
    if (typeof id !== 'string') return !isEdgeWithoutId(item)
    if (!read.has(id) || seen.has(id)) return true
    seen.add(id)
    return false
  })
}

/** An edge without an id is read and given one. */
function isEdgeWithoutId(item: unknown): boolean {
  if (typeof item !== 'object' || item === null) return false
  const { source, target } = item as Record<string, unknown>
  return typeof source === 'string' && typeof target === 'string'
}

export function openDocument(workflow: Readonly<Record<string, unknown>>): GraphDocument {
  const raw = workflow['graphData']
  const { nodes: nodeList, edges: edgeList, ...rest } = readGraph(raw)
  const nodes = byId(nodeList)
  const edges = byId(edgeList)
  const given = (typeof raw === 'object' && raw !== null ? raw : {}) as Record<string, unknown>
  return {
    head: deepFreeze(Object.fromEntries(Object.entries(workflow).filter(([key]) => !SERVER_OWNED.has(key)))),
    nodes, edges, rest: deepFreeze(rest),
    undrawn: deepFreeze({ nodes: leftOver(given['nodes'], nodes), edges: leftOver(given['edges'], edges) }),
  }
}

export function graphOf(document: GraphDocument): GraphData {
  return {
    ...document.rest,
    nodes: [...document.nodes.values(), ...document.undrawn.nodes as GraphNode[]],
    edges: [...document.edges.values(), ...document.undrawn.edges as GraphEdge[]],
  }
}

/** The workflow as it is sent to the server. */
export function workflowOf(document: GraphDocument): Record<string, unknown> & { graphData: GraphData } {
  return { ...document.head, graphData: graphOf(document) }
}

export function modeOf(document: GraphDocument): Mode {
  const mode = document.head['mode']
  return typeof mode === 'string' && mode.toUpperCase() === 'AGENTIC' ? 'AGENTIC' : 'DAG'
}

export function nameOf(document: GraphDocument): string {
  const name = document.head['name']
  return typeof name === 'string' ? name : ''
}

export function positionOf(node: GraphNode): { x: number, y: number } {
  return { x: node.position?.x ?? 0, y: node.position?.y ?? 0 }
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A node's label, else its id. */
export function labelOf(node: GraphNode): string {
  return textOf(node.data['label']).trim() || node.id
}

/** Equal as JSON, whatever the order of keys. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>]
  const keys = Object.keys(left)
  return keys.length === Object.keys(right).length && keys.every(key => key in right && sameJson(left[key], right[key]))
}
