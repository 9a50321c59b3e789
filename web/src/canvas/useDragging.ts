/**
 * Dragging nodes: the view follows the pointer and snaps, the document is changed once, at the end.
 *
 * A drag that changes nothing in the document puts the view back to where the document has it.
 */
import type { NodeChange, NodeDragEvent, VueFlowStore } from '@vue-flow/core'
import { shallowRef } from 'vue'
import type { GraphNode } from '@/api/types'
import { snap, type Box, type Guide } from './geometry'

interface Dragging {
  flow: VueFlowStore
  nodes: () => readonly GraphNode[]
  /** ⌘ or Ctrl is held: nothing snaps. */
  free: () => boolean
  onMove: (places: ReadonlyMap<string, { x: number, y: number }>) => void
  onDropOnEdge: (nodeId: string, edgeId: string) => void
}

const REACH_PX = 6

export function useDragging({ flow, nodes, free, onMove, onDropOnEdge }: Dragging) {
  const guides = shallowRef<readonly Guide[]>([])
  let neighbours: Box[] | undefined

  const boxOfView = (node: { position: { x: number, y: number }, dimensions: { width: number, height: number } }): Box => ({ ...node.position, ...node.dimensions })

  /** Nodes that stand near what is seen, measured once for each drag. */
  function othersThan(moving: ReadonlySet<string>): Box[] {
    neighbours ??= flow.nodes.value.filter(node => !moving.has(node.id) && node.type !== 'note').map(boxOfView)
    return neighbours
  }

  function snapped(changes: NodeChange[]): NodeChange[] {
    const moves = changes.flatMap(change => (change.type === 'position' && change.position ? [change] : []))
    const lead = moves[0]
    const node = lead && flow.findNode(lead.id)
    if (!lead || !node || !moves.some(change => change.dragging) || free()) {
      guides.value = []
      return changes
    }
    const others = othersThan(new Set(moves.map(change => change.id)))
    const shift = snap({ ...lead.position, ...node.dimensions } as Box, others, REACH_PX / flow.viewport.value.zoom)
    guides.value = shift.guides
    return changes.map(change => (change.type === 'position' && change.position
      ? { ...change, position: { x: change.position.x + shift.dx, y: change.position.y + shift.dy } }
      : change))
  }

  /** Of the library's changes only those of the view are taken; the document has commands of its own. */
  function onNodesChange(changes: NodeChange[]) {
    const own = changes.filter(change => change.type === 'position' || change.type === 'dimensions' || change.type === 'select')
    if (own.length > 0) flow.applyNodeChanges(own.some(change => change.type === 'position') ? snapped(own) : own)
  }

  function onDragStop({ nodes: dragged, event }: NodeDragEvent) {
    guides.value = []
    neighbours = undefined
    const before = new Map(nodes().map(node => [node.id, node]))
    const places = new Map(dragged.map(node => [node.id, { x: Math.round(node.position.x), y: Math.round(node.position.y) }]))
    for (const node of dragged) {
      const was = before.get(node.id)?.position
      const is = places.get(node.id)
      if (was && is && was.x === is.x && was.y === is.y) node.position = { ...is }
    }
    onMove(places)
    const only = dragged.length === 1 ? dragged[0] : undefined
    const edgeId = only && edgeUnder(event)
    if (only && edgeId !== undefined) onDropOnEdge(only.id, edgeId)
  }

  return { guides, onNodesChange, onDragStop }
}

/** The edge under the pointer, below what lies on it. */
export function edgeUnder(event: MouseEvent | TouchEvent): string | undefined {
  const point = 'clientX' in event ? event : event.changedTouches[0]
  if (!point) return undefined
  for (const element of document.elementsFromPoint(point.clientX, point.clientY)) {
    const id = element.closest('.vue-flow__edge')?.getAttribute('data-id')
    if (id) return id
  }
  return undefined
}
