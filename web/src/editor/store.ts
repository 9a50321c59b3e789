/**
 * The workflow that is being edited: the document, its history, and what is selected.
 *
 * Every change is a command under a name: `edit({ key, … }, document => next)`. The canvas and the forms are derived
 * from the document and never hold a second truth.
 */
import { defineStore } from 'pinia'
import { computed, ref, shallowRef } from 'vue'
import type { GraphNode, Mode, Workflow } from '@/api/types'
import { modeOf, nameOf, openDocument, type GraphDocument } from './document/document'
import * as past from './document/history'
import type { EditLabel, History } from './document/history'

const PAUSE_MS = 1000

const NOTHING = openDocument({})

export const useGraph = defineStore('graph', () => {
  const history = shallowRef<History>(past.openHistory(NOTHING))
  const workflowId = ref<string>()
  /** The stored document that this one was made from. */
  const base = shallowRef<{ document: GraphDocument, revision: number, updatedAt: string }>({ document: NOTHING, revision: 0, updatedAt: '' })
  const selectedNodes = shallowRef<readonly string[]>([])
  const selectedEdges = shallowRef<readonly string[]>([])
  /** Text in a field that is no value yet (half a JSON), by `nodeId field`: kept when another node is looked at. */
  const unfinished = shallowRef<ReadonlyMap<string, string>>(new Map())
  let pause: ReturnType<typeof setTimeout> | undefined

  const document = computed(() => history.value.document)
  const nodes = computed<readonly GraphNode[]>(() => [...document.value.nodes.values()])
  const edges = computed(() => [...document.value.edges.values()])
  const mode = computed<Mode>(() => modeOf(document.value))
  const name = computed(() => nameOf(document.value))
  const undoLabel = computed(() => history.value.past.at(-1)?.label)
  const redoLabel = computed(() => history.value.future.at(-1)?.label)
  const isChanged = computed(() => document.value !== base.value.document)
  const selectedNode = computed(() => (selectedNodes.value.length === 1 ? document.value.nodes.get(selectedNodes.value[0] ?? '') : undefined))

  function open(workflow: Workflow) {
    const opened = openDocument(workflow)
    workflowId.value = workflow.id
    base.value = { document: opened, revision: workflow.revision, updatedAt: workflow.updatedAt }
    history.value = past.openHistory(opened)
    selectedNodes.value = []
    selectedEdges.value = []
    unfinished.value = new Map()
  }

  /** A save went well: what was sent is what is stored. */
  function saved(sent: GraphDocument, workflow: Pick<Workflow, 'revision' | 'updatedAt'>) {
    base.value = { document: sent, revision: workflow.revision, updatedAt: workflow.updatedAt }
  }

  /** Performs a command; answers whether it changed anything. */
  function edit(label: EditLabel, change: (document: GraphDocument) => GraphDocument, mergeKey?: string): boolean {
    const edit = past.editBetween(document.value, change(document.value), label, mergeKey)
    if (!edit) return false
    history.value = past.perform(history.value, edit)
    clearTimeout(pause)
    if (mergeKey !== undefined) pause = setTimeout(closeStep, PAUSE_MS)
    dropGoneFromSelection()
    return true
  }
  function closeStep() {
    clearTimeout(pause)
    history.value = past.closeStep(history.value)
  }

  function dropGoneFromSelection() {
    const { nodes: left, edges: leftEdges } = document.value
    if (selectedNodes.value.some(id => !left.has(id))) selectedNodes.value = selectedNodes.value.filter(id => left.has(id))
    if (selectedEdges.value.some(id => !leftEdges.has(id))) selectedEdges.value = selectedEdges.value.filter(id => leftEdges.has(id))
  }
  function travel(to: 'undo' | 'redo') {
    const edit = history.value[to === 'undo' ? 'past' : 'future'].at(-1)
    if (!edit) return
    history.value = past[to](history.value)
    unfinished.value = new Map()
    dropGoneFromSelection()
    const touched = past.touched(edit).filter(id => document.value.nodes.has(id))
    if (touched.length > 0) select(touched)
  }

  function select(nodeIds: readonly string[], edgeIds: readonly string[] = []) {
    selectedNodes.value = nodeIds
    selectedEdges.value = edgeIds
  }

  function keepUnfinished(key: string, text: string | undefined) {
    const next = new Map(unfinished.value)
    if (text === undefined) next.delete(key)
    else next.set(key, text)
    unfinished.value = next
  }

  return {
    workflowId, base, document, nodes, edges, mode, name, undoLabel, redoLabel, isChanged, selectedNodes, selectedEdges, selectedNode, unfinished,
    open, saved, edit, closeStep, undo: () => { travel('undo') }, redo: () => { travel('redo') }, select, keepUnfinished,
  }
})
