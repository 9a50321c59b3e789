/**
 * One run on the page, live or from the history: what it is (`head`), what it shows so far (`view`), its route, and
 * what the person looks at in it (the selected and the hovered stop, the playhead of the replay).
 *
 * Everything that draws the run (canvas, ribbon, chain, trail) shares this one object, so they select each other.
 */
import { computed, inject, provide, ref, shallowRef, toValue, watch, type InjectionKey, type MaybeRefOrGetter } from 'vue'
import { api, ok } from '@/api/client'
import { readGraph } from '@/api/graph'
import type { GraphData, RunDetail, RunEvent } from '@/api/types'
import { isEnded } from '@/ui/status'
import { route, type Route } from './model/route'
import { begin, fold, type RunView, type Step } from './model/runView'
import { currentStep } from './model/steps'
import { without } from './model/without'
import type { Runnable } from './startRun'
import { useRunEvents } from './useRunEvents'

export type RunHead = Omit<RunDetail, 'visits' | 'nodes' | 'graphData'> & { graph: GraphData }

const NO_ROUTE: Route = { stops: [], segments: [] }
const NO_GRAPH: GraphData = { nodes: [], edges: [] }

export function useShownRun(runId: MaybeRefOrGetter<string | undefined>) {
  const head = shallowRef<RunHead>()
  const view = shallowRef<RunView>()
  const error = shallowRef<unknown>()
  /** The visits of another run that a fork shares, by this run's visit. */
  const sharedWith = shallowRef<ReadonlyMap<string, string>>(new Map())
  /** What is selected and hovered, by the step's key; the stop up to which the route is shown while it is replayed. */
  const selected = ref<string>()
  const hovered = ref<string>()
  const playhead = ref<number>()
  const following = ref(true)
  const asksCancel = ref(false)
  const unfolded = ref<ReadonlySet<string>>(new Set())

  /** Events that came before the graph did. */
  let early: RunEvent[] = []

  function receive(events: RunEvent[]) {
    if (!head.value || !view.value) {
      early.push(...events)
      return
    }
    view.value = fold(view.value, events, head.value.graph)
  }

  const id = computed(() => toValue(runId))
  const connection = useRunEvents(id, receive)

  async function load() {
    const wanted = id.value
    if (wanted === undefined) return
    try {
      const detail = await ok(api.GET('/api/runs/{run_id}', { params: { path: { run_id: wanted } } }))
      if (id.value !== wanted) return
      const graph = readGraph(detail.graphData)
      sharedWith.value = new Map((detail.visits ?? []).flatMap(visit => (visit.sharedWith ? [[visit.visitId, visit.sharedWith]] : [])))
      view.value = fold(begin(detail.mode, graph), early, graph)
      head.value = { ...without(detail, 'graphData', 'visits', 'nodes'), graph }
      error.value = undefined
      early = []
    } catch (failure) {
      if (id.value === wanted) error.value = failure
    }
  }

  watch(id, () => {
    head.value = view.value = error.value = selected.value = hovered.value = playhead.value = undefined
    following.value = true
    asksCancel.value = false
    unfolded.value = new Set()
    early = []
    void load()
  }, { immediate: true })

  const graph = computed(() => head.value?.graph ?? NO_GRAPH)
  /** The steps in the order of the route: visits as they came, nodes of a DAG run as they began. */
  const steps = computed<readonly Step[]>(() => {
    if (!view.value) return []
    if (view.value.mode === 'AGENTIC') return view.value.steps
    return view.value.steps.filter(step => step.startedAt !== undefined).sort((a, b) => (a.startedAt ?? '').localeCompare(b.startedAt ?? '') || a.sortOrder - b.sortOrder)
  })
  const wholeRoute = computed(() => (view.value?.mode === 'AGENTIC' ? route(steps.value, graph.value.edges) : NO_ROUTE))
  const byKey = computed(() => new Map((view.value?.steps ?? []).map(step => [step.key, step])))
  const numbers = computed(() => new Map(steps.value.map((step, index) => [step.key, index + 1])))
  const status = computed(() => view.value?.status ?? head.value?.status ?? 'PENDING')
  const current = computed(() => (view.value ? currentStep(view.value) : undefined))
  const runnable = computed<Runnable | undefined>(() => head.value && {
    id: head.value.workflowId, name: head.value.workflowName, mode: head.value.mode, graphData: head.value.graph, maxVisits: head.value.maxVisits,
  })

  function select(key: string | undefined) {
    selected.value = key
    if (playhead.value !== undefined && key !== undefined) playhead.value = numbers.value.get(key) ?? playhead.value
  }
  /** Selects by the number that people see. */
  function selectStop(n: number | undefined) {
    select(n === undefined ? undefined : steps.value[n - 1]?.key)
  }
  const isOpen = (key: string, what: Unfolded) => unfolded.value.has(`${key} ${what}`)
  function toggle(key: string, what: Unfolded) {
    const next = new Set(unfolded.value)
    if (!next.delete(`${key} ${what}`)) next.add(`${key} ${what}`)
    unfolded.value = next
  }
  async function cancel() {
    if (id.value !== undefined) await ok(api.POST('/api/runs/{run_id}/cancel', { params: { path: { run_id: id.value } } }))
  }

  return {
    id, head, view, error, graph, steps, byKey, numbers, route: wholeRoute, status, current, runnable, sharedWith,
    isEnded: computed(() => isEnded(status.value)),
    /** Not while the events of a run that ended before are read again. */
    isLive: computed(() => head.value !== undefined && !isEnded(head.value.status) && !isEnded(status.value)),
    connection, selected, hovered, playhead, following, asksCancel,
    load, select, selectStop, cancel, isOpen, toggle,
  }
}

export type ShownRun = ReturnType<typeof useShownRun>

const SHOWN_RUN: InjectionKey<ShownRun> = Symbol('shown run')

/** What can be unfolded inside a card. Several may be open. */
export type Unfolded = 'changes' | 'workspace' | 'output' | 'prompt' | 'decision'

/** Hands a run to everything below that draws a part of it. */
export function provideRun(run: ShownRun) {
  provide(SHOWN_RUN, run)
}
export function useRun(): ShownRun {
  const run = inject(SHOWN_RUN)
  if (!run) throw new Error('A part of a run is drawn outside of one.')
  return run
}
