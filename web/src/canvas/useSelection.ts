/** Keeps the library's selection and the page's the same. Selection is a matter of the view, not of the document. */
import type { VueFlowStore } from '@vue-flow/core'
import { nextTick, watch, type ModelRef } from 'vue'
import { readJson, writeJson } from '@/api/json'

const same = (a: readonly string[], b: readonly string[]) => a.length === b.length && a.every(id => b.includes(id))

export function useSelection(flow: VueFlowStore, nodes: ModelRef<readonly string[]>, edges: ModelRef<readonly string[]>) {
  const ids = (items: readonly { id: string }[]) => items.map(item => item.id)

  // By their text: the library makes its list anew with every node, and only another selection is news.
  const key = (items: readonly { id: string }[]) => writeJson(ids(items))
  watch(() => key(flow.getSelectedNodes.value), (selected) => { if (selected !== writeJson(nodes.value)) nodes.value = readJson(selected) as string[] })
  watch(() => key(flow.getSelectedEdges.value), (selected) => { if (selected !== writeJson(edges.value)) edges.value = readJson(selected) as string[] })

  /** The page may select what is only about to be drawn: then once more, a frame later. */
  async function show(again = 3) {
    await nextTick()
    if (again > 0 && nodes.value.some(id => flow.findNode(id) === undefined)) requestAnimationFrame(() => { void show(again - 1) })
    const [wantedNodes, wantedEdges] = [new Set(nodes.value), new Set(edges.value)]
    for (const node of flow.nodes.value) if (Boolean(node.selected) !== wantedNodes.has(node.id)) node.selected = wantedNodes.has(node.id)
    for (const edge of flow.edges.value) if (Boolean(edge.selected) !== wantedEdges.has(edge.id)) edge.selected = wantedEdges.has(edge.id)
  }
  watch([nodes, edges], ([wantedNodes, wantedEdges]) => {
    if (!same(ids(flow.getSelectedNodes.value), wantedNodes) || !same(ids(flow.getSelectedEdges.value), wantedEdges)) void show()
  })
}
