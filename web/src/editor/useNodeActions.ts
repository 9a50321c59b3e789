/** What a person does to nodes: add, delete, copy, arrange. Each is one named edit of the document. */
import { useI18n } from 'vue-i18n'
import { inLanguage } from '@/canvas/nodeText'
import { USUAL_SIZE, type Box as Area } from '@/canvas/geometry'
import { handlesOf, traitsOf } from '@/canvas/handles'
import type { GraphNode, NodeType } from '@/api/types'
import { aligned, distributed, type Alignment, type Box, type Direction } from './document/arrange'
import { clipboardText, copyOf, paste, type Copied } from './document/clipboard'
import * as commands from './document/commands'
import { refusals, refusalOf, type Connection } from './document/connecting'
import { labelOf } from './document/document'
import { newNodeId, snapped, uniqueLabel } from './document/naming'
import { freePlace, roomOf, type Room } from './document/places'
import type { Adding } from './context'
import { useNodeTypes } from './nodeTypes'
import { useGraph } from './store'

/** The drawing as the canvas has measured it, and the part of it that is seen. */
export interface Seen { readonly boxes: readonly Box[], readonly view?: Area | undefined }

export function useNodeActions() {
  const graph = useGraph()
  const types = useNodeTypes()
  const { t, locale } = useI18n()

  const nameOf = (ids: readonly string[]) => {
    const only = ids.length === 1 ? graph.document.nodes.get(ids[0] ?? '') : undefined
    return only ? { name: labelOf(only) } : { count: ids.length }
  }

  /** Notes lie behind and take no place. */
  const isNote = (node: GraphNode | undefined) => traitsOf(types.byType.get(node?.type ?? '')).isNote
  const roomIn = (seen?: Seen): Room => (seen
    ? { taken: seen.boxes.filter(box => !isNote(graph.document.nodes.get(box.id))), view: seen.view }
    : roomOf(graph.nodes.filter(node => !isNote(node))))

  function add(type: NodeType, { at, from }: Adding, middle: commands.Place, seen?: Seen): string {
    const id = newNodeId(type.type, graph.document.nodes)
    const wanted = at ?? middle
    const position = freePlace({ x: snapped(wanted.x), y: snapped(wanted.y), ...USUAL_SIZE }, roomIn(seen))
    const label = uniqueLabel(inLanguage(type.title, locale.value), graph.nodes)
    const node: GraphNode = { id, type: type.type, position, data: { ...(type.runs && { label }), ...firstData(type) } }
    graph.edit({ key: 'editor.edit.add', name: label }, (document) => {
      const put = commands.putNode(document, node)
      const joins = from && refusalOf(put, types.byType, { ...from, target: id }) === undefined
      return joins ? commands.connect(put, { ...from, target: id }) : put
    })
    graph.select([id])
    return id
  }

  function removeSelected() {
    const [nodes, edges] = [graph.selectedNodes, graph.selectedEdges]
    if (nodes.length === 0 && edges.length === 0) return
    const label = nodes.length > 0 ? { key: 'editor.edit.delete', ...nameOf(nodes) } : { key: 'editor.edit.deleteEdges', count: edges.length }
    graph.edit(label, document => commands.remove(document, new Set(nodes), new Set(edges)))
  }

  const copied = (): Copied => copyOf(graph.document, new Set(graph.selectedNodes))
  const copiedText = () => (graph.selectedNodes.length > 0 ? clipboardText(copied()) : undefined)

  function pasteNodes(from: Copied, seen?: Seen) {
    const result = paste(graph.document, from, roomIn(seen), node => seen?.boxes.find(box => box.id === node.id) ?? USUAL_SIZE)
    graph.edit({ key: 'editor.edit.paste', count: result.nodeIds.length }, () => result.document)
    graph.select(result.nodeIds)
    return result.nodeIds
  }
  function duplicate(seen?: Seen) {
    return graph.selectedNodes.length > 0 ? pasteNodes(copied(), seen) : []
  }

  function connect(connection: Connection): string | undefined {
    const refusal = refusalOf(graph.document, types.byType, connection)
    if (refusal !== undefined) return t(`editor.refusal.${refusal}`)
    graph.edit({ key: 'editor.edit.connect' }, document => commands.connect(document, connection))
    return undefined
  }
  function reconnect(edgeId: string, connection: Connection) {
    const without = commands.remove(graph.document, new Set(), new Set([edgeId]))
    if (refusalOf(without, types.byType, connection) !== undefined) return
    graph.edit({ key: 'editor.edit.reconnect' }, document => commands.reconnect(document, edgeId, connection))
  }
  /** Why an edge from a handle may not end at each node, in words. */
  function refusalTexts(source: string, sourceHandle: string | null): Map<string, string> {
    return new Map([...refusals(graph.document, types.byType, source, sourceHandle)].map(([id, refusal]) => [id, t(`editor.refusal.${refusal}`)]))
  }

  /** A node that has no edges yet and is let go over one goes into it. */
  function insertOnEdge(nodeId: string, edgeId: string) {
    const node = graph.document.nodes.get(nodeId)
    const isFree = !graph.edges.some(edge => edge.source === nodeId || edge.target === nodeId)
    if (!node || !isFree || traitsOf(types.byType.get(node.type)).isNote) return
    const handle = handlesOf(node, types.byType.get(node.type))[0]?.id
    graph.edit({ key: 'editor.edit.insert', name: labelOf(node) }, document => commands.insertOnEdge(document, edgeId, nodeId, handle))
  }

  function move(places: ReadonlyMap<string, commands.Place>, mergeKey?: string) {
    graph.edit({ key: 'editor.edit.move', ...nameOf([...places.keys()]) }, document => commands.moveNodes(document, places), mergeKey)
  }
  function nudge(dx: number, dy: number) {
    const places = graph.selectedNodes.flatMap((id) => {
      const position = graph.document.nodes.get(id)?.position
      return position ? [[id, { x: position.x + dx, y: position.y + dy }] as const] : []
    })
    if (places.length > 0) move(new Map(places), `nudge ${graph.selectedNodes.join()}`)
  }
  const align = (boxes: readonly Box[], to: Alignment) => graph.edit({ key: 'editor.edit.align', count: boxes.length }, document => commands.moveNodes(document, aligned(boxes, to)))
  const distribute = (boxes: readonly Box[], direction: Direction) => graph.edit({ key: 'editor.edit.distribute', count: boxes.length }, document => commands.moveNodes(document, distributed(boxes, direction)))

  /** Frames nodes by a note that lies behind them. */
  function frame(boxes: readonly Box[]) {
    const type = types.list.find(one => !one.runs)
    if (!type || boxes.length === 0) return
    const [x, y] = [Math.min(...boxes.map(box => box.x)) - 24, Math.min(...boxes.map(box => box.y)) - 56]
    const [right, bottom] = [Math.max(...boxes.map(box => box.x + box.width)) + 24, Math.max(...boxes.map(box => box.y + box.height)) + 24]
    const id = newNodeId(type.type, graph.document.nodes)
    const node: GraphNode = { id, type: type.type, position: { x, y }, width: right - x, height: bottom - y, data: { label: t('editor.frame.label') } }
    graph.edit({ key: 'editor.edit.frame', count: boxes.length }, document => commands.putNode(document, node))
    graph.select([id])
  }

  return { add, removeSelected, copiedText, pasteNodes, duplicate, connect, reconnect, refusalTexts, insertOnEdge, move, nudge, align, distribute, frame }
}

/** What a new node begins with: lists that must hold something to be drawn. Defaults are left to the engine. */
function firstData(type: NodeType): Record<string, unknown> {
  const { branchesField } = traitsOf(type)
  return branchesField === undefined ? {} : { [branchesField]: [{ type: 'IF', expression: '' }] }
}
