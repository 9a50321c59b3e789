/** What differs between two drawings, for the eye: one picture of both, with marks, and the fields that changed. Pure. */
import { writeJson } from '@/api/json'
import type { DiffMark } from '@/canvas/context'
import type { GraphEdge, GraphNode } from '@/api/types'
import { sameJson, type GraphDocument } from './document'
import { differingFields } from './merge'

export interface NodeChange { readonly id: string, readonly node: GraphNode, readonly mark: DiffMark, readonly fields: readonly { name: string, before: unknown, after: unknown }[] }

export interface Comparison {
  /** Both drawings in one: what is there after, and what was there before and is gone. */
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly GraphEdge[]
  readonly marks: ReadonlyMap<string, DiffMark>
  readonly edgeMarks: ReadonlyMap<string, DiffMark>
  readonly changes: readonly NodeChange[]
  readonly head: readonly { name: string, before: unknown, after: unknown }[]
}

const valueOf = (node: GraphNode, field: string): unknown => (field in node.data ? node.data[field] : node[field])

function changeOf(before: GraphNode, after: GraphNode): NodeChange | undefined {
  const names = differingFields(before, after)
  if (names.length === 0) return undefined
  const fields = names.filter(name => name !== 'position').map(name => ({ name, before: valueOf(before, name), after: valueOf(after, name) }))
  return { id: after.id, node: after, mark: fields.length === 0 ? 'moved' : 'changed', fields }
}

/** Edges are the same when they join the same by the same handle, whatever their id. */
const edgeKey = (edge: GraphEdge) => writeJson([edge.source, edge.sourceHandle || 'output', edge.target])

export function compareDrawings(before: GraphDocument, after: GraphDocument): Comparison {
  const changes: NodeChange[] = []
  for (const node of after.nodes.values()) {
    const was = before.nodes.get(node.id)
    const change = was ? changeOf(was, node) : { id: node.id, node, mark: 'added' as const, fields: [] }
    if (change) changes.push(change)
  }
  const gone = [...before.nodes.values()].filter(node => !after.nodes.has(node.id))
  changes.push(...gone.map(node => ({ id: node.id, node, mark: 'removed' as const, fields: [] })))

  const [beforeEdges, afterEdges] = [new Set([...before.edges.values()].map(edgeKey)), new Set([...after.edges.values()].map(edgeKey))]
  const goneEdges = [...before.edges.values()].filter(edge => !afterEdges.has(edgeKey(edge))).map(edge => ({ ...edge, id: `before ${edge.id}` }))
  const edgeMarks = new Map<string, DiffMark>([
    ...[...after.edges.values()].filter(edge => !beforeEdges.has(edgeKey(edge))).map(edge => [edge.id, 'added'] as const),
    ...goneEdges.map(edge => [edge.id, 'removed'] as const),
  ])
  const names = [...new Set([...Object.keys(before.head), ...Object.keys(after.head)])].filter(name => !sameJson(before.head[name], after.head[name]))
  return {
    nodes: [...after.nodes.values(), ...gone], edges: [...after.edges.values(), ...goneEdges],
    marks: new Map(changes.map(change => [change.id, change.mark])), edgeMarks, changes,
    head: names.map(name => ({ name, before: before.head[name], after: after.head[name] })),
  }
}
