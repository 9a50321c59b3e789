/**
 * The document as the canvas library wants it: one view node for each node, one view edge for each edge, made once and
 * kept as long as the node is the same. A big drawing is given in portions, nearest first, so that the page stays alive.
 */
import type { Edge, Node, VueFlowStore } from '@vue-flow/core'
import { computed, onScopeDispose, shallowRef, watch, type Ref } from 'vue'
import type { GraphEdge, GraphNode, NodeType } from '@/api/types'
import { byDistance } from './geometry'
import { sourceHandleOf, traitsOf } from './handles'

const PORTION = 60
export const ARROW = 'flyback-arrow'

type Admitted = ReadonlySet<string> | 'all'

interface Source {
  flow: VueFlowStore
  nodes: Readonly<Ref<readonly GraphNode[]>>
  edges: Readonly<Ref<readonly GraphEdge[]>>
  types: Readonly<Ref<ReadonlyMap<string, NodeType>>>
  readOnly: Readonly<Ref<boolean>>
  selectedEdges: Readonly<Ref<ReadonlySet<string>>>
  edgeName: (edge: GraphEdge) => string
  edgeClass: (edge: GraphEdge) => string
}

export function useViewGraph(source: Source) {
  const admitted = shallowRef<Admitted>('all')
  let nodeCache = new WeakMap<GraphNode, Node>()
  let edgeCache = new WeakMap<GraphEdge, { key: string, view: Edge }>()
  // Which types are notes, and the language of names, come from outside the nodes.
  watch(source.types, () => { nodeCache = new WeakMap() }, { flush: 'sync' })

  function viewNode(node: GraphNode): Node {
    let view = nodeCache.get(node)
    if (!view) {
      const isNote = traitsOf(source.types.value.get(node.type)).isNote
      // Every key each time: the library assigns over what it had, and a key left out would stay.
      view = {
        id: node.id, type: isNote ? 'note' : 'step', position: { x: node.position?.x ?? 0, y: node.position?.y ?? 0 }, data: { node },
        zIndex: isNote ? -1 : 1, domAttributes: { 'aria-roledescription': undefined },
      }
      nodeCache.set(node, view)
    }
    return view
  }

  function viewEdge(edge: GraphEdge): Edge {
    const selected = source.selectedEdges.value.has(edge.id)
    const [name, classes] = [source.edgeName(edge), source.edgeClass(edge)]
    const key = `${selected} ${source.readOnly.value} ${classes} ${name}`
    const kept = edgeCache.get(edge)
    if (kept?.key === key) return kept.view
    const view: Edge & { selected: boolean } = {
      id: edge.id, source: edge.source, target: edge.target, sourceHandle: sourceHandleOf(edge), targetHandle: null,
      type: 'smoothstep', pathOptions: { borderRadius: 12 }, markerEnd: ARROW, class: classes, ariaLabel: name, selected, updatable: selected && !source.readOnly.value, interactionWidth: 18,
    }
    edgeCache.set(edge, { key, view })
    return view
  }

  const isIn = (id: string) => admitted.value === 'all' || admitted.value.has(id)
  const viewNodes = computed(() => source.nodes.value.filter(node => isIn(node.id)).map(viewNode))
  const viewEdges = computed(() => {
    const present = new Set(viewNodes.value.map(node => node.id))
    return source.edges.value.filter(edge => present.has(edge.source) && present.has(edge.target)).map(viewEdge)
  })

  /**
   * The lists as the library has them. A new list makes it go through all of them, so what changed in place (a node that
   * was moved, a text) is put into its node alone.
   */
  const givenNodes = shallowRef<Node[]>(viewNodes.value)
  const givenEdges = shallowRef<Edge[]>(viewEdges.value)
  watch(viewNodes, (next, before) => {
    const changed = changedInPlace(next, before)
    const shown = changed?.map(node => source.flow.findNode(node.id))
    if (!changed || !shown || shown.includes(undefined)) givenNodes.value = next
    else changed.forEach((node, index) => Object.assign(shown[index] as object, node, { position: { ...node.position } }))
  })
  watch(viewEdges, (next, before) => {
    const changed = changedInPlace(next, before)
    const shown = changed?.map(edge => source.flow.findEdge(edge.id))
    const joinsTheSame = changed?.every((edge, index) => shown?.[index]?.source === edge.source && shown[index].target === edge.target && shown[index].sourceHandle === edge.sourceHandle)
    if (!changed || !shown || !joinsTheSame) givenEdges.value = next
    else changed.forEach((edge, index) => Object.assign(shown[index] as object, edge))
  })

  let frame = 0
  /** Begins a drawing anew: what is near the point first, the rest in portions. */
  function open(near: { x: number, y: number }) {
    cancelAnimationFrame(frame)
    edgeCache = new WeakMap()
    if (source.nodes.value.length <= 1.5 * PORTION) {
      admitted.value = 'all'
      return
    }
    const queue = byDistance(source.nodes.value.map(node => ({ id: node.id, x: node.position?.x ?? 0, y: node.position?.y ?? 0 })), near).map(({ id }) => id)
    let count = PORTION
    const next = () => {
      admitted.value = count >= queue.length ? 'all' : new Set(queue.slice(0, count))
      count += PORTION
      if (admitted.value !== 'all') frame = requestAnimationFrame(next)
    }
    next()
  }
  onScopeDispose(() => { cancelAnimationFrame(frame) })

  return { viewNodes: givenNodes, viewEdges: givenEdges, open }
}

/** What differs between two lists of the same things in the same order; undefined where they are not. */
function changedInPlace<T extends { id: string }>(next: readonly T[], before: readonly T[]): T[] | undefined {
  if (next.length !== before.length || next.some((item, index) => item.id !== before[index]?.id)) return undefined
  return next.filter((item, index) => item !== before[index])
}
