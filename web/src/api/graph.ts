/** Reads a graph file as it comes from the API: what is no node or edge is left out, everything else is kept. Pure. */
import type { GraphData, GraphEdge, GraphNode } from './types'

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

function isNode(value: unknown): value is GraphNode {
  return isRecord(value) && typeof value['id'] === 'string' && typeof value['type'] === 'string'
}

function isEdge(value: unknown): value is GraphEdge {
  return isRecord(value) && typeof value['source'] === 'string' && typeof value['target'] === 'string'
}

function positionOf(value: unknown): { x: number, y: number } {
  const { x, y } = isRecord(value) ? value : {}
  return { x: typeof x === 'number' ? x : 0, y: typeof y === 'number' ? y : 0 }
}

export function readGraph(value: unknown): GraphData {
  const graph = isRecord(value) ? value : {}
  const list = (items: unknown): unknown[] => (Array.isArray(items) ? items : [])
  return {
    ...graph,
    nodes: list(graph['nodes']).filter(isNode).map(node => ({ ...node, position: positionOf(node.position), data: isRecord(node.data) ? node.data : {} })),
    edges: list(graph['edges']).filter(isEdge).map((edge, index) => ({ ...edge, id: typeof edge.id === 'string' ? edge.id : `edge-${index}` })),
  }
}
