/**
 * Copying parts of a drawing as JSON text, and taking them in again. Pure.
 *
 * Copies are new nodes: new ids, labels that are told apart, places of their own. Edges among the copied nodes come
 * along; references among them point to the copies, references to others stay (and are marked where nothing is there).
 */
import { readGraph } from '@/api/graph'
import { readJson, writeJson } from '@/api/json'
import type { GraphEdge, GraphNode } from '@/api/types'
import { around, USUAL_SIZE, type Box } from '@/canvas/geometry'
import { deepFreeze, positionOf, textOf, type GraphDocument } from './document'
import { newEdgeId, newNodeId, snapped, uniqueLabel } from './naming'
import { freeShift, roomOf, type Room } from './places'
import { renamedDeep, renamedName } from './references'

const KIND = 'flyback/nodes'

export interface Copied { readonly nodes: readonly GraphNode[], readonly edges: readonly GraphEdge[] }

export function copyOf(document: GraphDocument, nodeIds: ReadonlySet<string>): Copied {
  return {
    nodes: [...document.nodes.values()].filter(node => nodeIds.has(node.id)),
    edges: [...document.edges.values()].filter(edge => nodeIds.has(edge.source) && nodeIds.has(edge.target)),
  }
}

export function clipboardText(copied: Copied): string {
  return writeJson({ kind: KIND, nodes: copied.nodes, edges: copied.edges }, 2)
}

/** Reads what was copied here, or any graph file; undefined for other text. */
export function readClipboard(text: string): Copied | undefined {
  if (!text.trimStart().startsWith('{')) return undefined
  let value: unknown
  try {
    value = readJson(text)
  } catch {
    return undefined
  }
  const record = value as Record<string, unknown>
  const { nodes, edges } = readGraph('graphData' in record ? record['graphData'] : record)
  return nodes.length > 0 ? { nodes, edges } : undefined
}

/** References are also kept without braces: a rule's variable, an item of an aggregate. */
function renamedData(data: Record<string, unknown>, ids: ReadonlyMap<string, string>): Record<string, unknown> {
  const bare = (value: unknown, key: string): unknown => {
    if (typeof value === 'string' && (key === 'variable' || key === 'variables')) return renamedName(value, ids) ?? value
    if (Array.isArray(value)) return value.map(item => bare(item, key))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([inner, item]) => [inner, bare(item, inner)]))
  }
  return bare(renamedDeep(data, ids), '') as Record<string, unknown>
}

type Size = Pick<Box, 'width' | 'height'>
export interface Pasted { readonly document: GraphDocument, readonly nodeIds: string[] }

/** Puts copies into a document, as near to where they were as there is room, or to the middle of what is seen if that is elsewhere. */
export function paste(document: GraphDocument, copied: Copied, room: Room = roomOf(document.nodes.values()), sizeOf: (node: GraphNode) => Size = () => USUAL_SIZE): Pasted {
  const nodes = new Map(document.nodes)
  const edges = new Map(document.edges)
  const ids = new Map<string, string>()
  for (const node of copied.nodes) ids.set(node.id, newNodeId(node.type, { has: id => nodes.has(id) || [...ids.values()].includes(id) }))

  const shift = shiftInto(copied.nodes.map(node => ({ ...positionOf(node), ...sizeOf(node) })), room)
  for (const node of copied.nodes) {
    const id = ids.get(node.id) ?? node.id
    const { x, y } = positionOf(node)
    const data = renamedData(node.data, ids)
    const label = uniqueLabel(textOf(data['label']), nodes.values())
    nodes.set(id, deepFreeze({ ...node, id, position: { x: x + shift.x, y: y + shift.y }, data: { ...data, ...(label !== '' && { label }) } }))
  }
  for (const edge of copied.edges) {
    const [source, target] = [ids.get(edge.source), ids.get(edge.target)]
    if (source === undefined || target === undefined) continue
    const id = newEdgeId(edges)
    edges.set(id, deepFreeze({ ...edge, id, source, target }))
  }
  return { document: { ...document, nodes, edges }, nodeIds: [...ids.values()] }
}

function shiftInto(boxes: readonly Box[], room: Room): { x: number, y: number } {
  const whole = around(boxes)
  const { view } = room
  if (!whole) return { x: 0, y: 0 }
  const isSeen = !view || (whole.x < view.x + view.width && view.x < whole.x + whole.width && whole.y < view.y + view.height && view.y < whole.y + whole.height)
  const first = isSeen ? { x: 0, y: 0 } : { x: snapped(view.x + (view.width - whole.width) / 2 - whole.x), y: snapped(view.y + (view.height - whole.height) / 2 - whole.y) }
  const further = freeShift(boxes.map(box => ({ ...box, x: box.x + first.x, y: box.y + first.y })), room)
  return { x: first.x + further.x, y: first.y + further.y }
}
