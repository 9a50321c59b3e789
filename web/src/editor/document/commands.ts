/** What can be done to the document: functions from one to the next. Pure; they know nothing of history or canvas. */
import { branchCount, OUTPUT_HANDLE } from '@/canvas/handles'
import type { GraphEdge, GraphNode } from '@/api/types'
import { movedEdges, retyped, type Origins } from './branches'
import { deepFreeze, type GraphDocument } from './document'
import { newEdgeId } from './naming'
import type { Connection } from './connecting'

export type Place = Readonly<{ x: number, y: number }>

const withNodes = (document: GraphDocument, nodes: ReadonlyMap<string, GraphNode>): GraphDocument => ({ ...document, nodes })
const withEdges = (document: GraphDocument, edges: ReadonlyMap<string, GraphEdge>): GraphDocument => ({ ...document, edges })

export function putNode(document: GraphDocument, node: GraphNode): GraphDocument {
  return withNodes(document, new Map(document.nodes).set(node.id, deepFreeze(node)))
}

/** Sets fields of a node's data; `undefined` removes one. */
export function setData(document: GraphDocument, nodeId: string, changes: Readonly<Record<string, unknown>>): GraphDocument {
  const node = document.nodes.get(nodeId)
  if (!node) return document
  const data = Object.fromEntries(Object.entries({ ...node.data, ...changes }).filter(([, value]) => value !== undefined))
  return putNode(document, { ...node, data })
}

/** Sets the branches of a node and moves its edges with them. */
export function setBranches(document: GraphDocument, nodeId: string, field: string, branches: readonly Record<string, unknown>[], origins: Origins): GraphDocument {
  const node = document.nodes.get(nodeId)
  if (!node) return document
  // An empty list is drawn, and connected, as one IF.
  const kept: Origins = branches.length === 0 ? [undefined] : origins
  const edges = movedEdges(document.edges, nodeId, branchCount(node, field), kept)
  return withEdges(setData(document, nodeId, { [field]: retyped(branches) }), edges)
}

export function setHead(document: GraphDocument, changes: Readonly<Record<string, unknown>>): GraphDocument {
  return { ...document, head: deepFreeze({ ...document.head, ...changes }) }
}

export function moveNodes(document: GraphDocument, places: ReadonlyMap<string, Place>): GraphDocument {
  const nodes = new Map(document.nodes)
  for (const [id, { x, y }] of places) {
    const node = nodes.get(id)
    if (node && (node.position?.x !== x || node.position.y !== y)) nodes.set(id, deepFreeze({ ...node, position: { ...node.position, x, y } }))
  }
  return withNodes(document, nodes)
}

/** Removes nodes with all their edges, and edges. */
export function remove(document: GraphDocument, nodeIds: ReadonlySet<string>, edgeIds: ReadonlySet<string> = new Set()): GraphDocument {
  const nodes = new Map([...document.nodes].filter(([id]) => !nodeIds.has(id)))
  const edges = new Map([...document.edges].filter(([id, edge]) => !edgeIds.has(id) && !nodeIds.has(edge.source) && !nodeIds.has(edge.target)))
  return { ...document, nodes, edges }
}

export function connect(document: GraphDocument, connection: Connection): GraphDocument {
  const edge: GraphEdge = { id: newEdgeId(document.edges), source: connection.source, target: connection.target, sourceHandle: connection.sourceHandle ?? OUTPUT_HANDLE }
  return withEdges(document, new Map(document.edges).set(edge.id, deepFreeze(edge)))
}

/** Lets an edge begin or end elsewhere, in its place in the list. */
export function reconnect(document: GraphDocument, edgeId: string, connection: Connection): GraphDocument {
  const edge = document.edges.get(edgeId)
  if (!edge) return document
  const next: GraphEdge = { ...edge, source: connection.source, target: connection.target, sourceHandle: connection.sourceHandle ?? OUTPUT_HANDLE }
  return withEdges(document, new Map(document.edges).set(edgeId, deepFreeze(next)))
}

/** Puts a node into an edge: what led there leads to the node, and the node leads on. */
export function insertOnEdge(document: GraphDocument, edgeId: string, nodeId: string, outHandle: string | undefined): GraphDocument {
  const edge = document.edges.get(edgeId)
  if (!edge || !document.nodes.has(nodeId) || edge.source === nodeId || edge.target === nodeId) return document
  const led = withEdges(document, new Map(document.edges).set(edgeId, deepFreeze({ ...edge, target: nodeId, targetHandle: null })))
  return outHandle === undefined ? led : connect(led, { source: nodeId, sourceHandle: outHandle, target: edge.target })
}

/** Canvas order is the order of the list: who is first where nothing else decides. */
export function reorder(document: GraphDocument, nodeId: string, by: -1 | 1): GraphDocument {
  const ids = [...document.nodes.keys()]
  const at = ids.indexOf(nodeId)
  const other = ids[at + by]
  if (at < 0 || other === undefined) return document
  ids[at + by] = nodeId
  ids[at] = other
  return withNodes(document, new Map(ids.flatMap((id) => {
    const node = document.nodes.get(id)
    return node ? [[id, node] as const] : []
  })))
}
