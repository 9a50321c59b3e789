/**
 * Tells the canvas what a run says of each node: one cell a node, changed only when what it says changed.
 *
 * While a stored run is replayed, nodes look as they did when the playhead's step had been made.
 */
import { shallowRef, watch, type ShallowRef } from 'vue'
import { writeJson } from '@/api/json'
import type { NodeRunState, RunStateMap } from '@/canvas/runState'
import { useFormat } from '@/ui/useFormat'
import { nodeStates } from './model/nodeStates'
import type { ShownRun } from './useShownRun'

export function useRunStates(run: ShownRun) {
  const format = useFormat()
  const states = shallowRef<RunStateMap>()
  let cells = new Map<string, ShallowRef<NodeRunState>>()
  let shownId: string | undefined

  const figures = (tokens: number, perSecond: number | undefined) => [format.tokens(tokens), ...(perSecond === undefined ? [] : [format.tokenPace(perSecond)])]

  watch([run.view, run.head, run.selected, run.playhead], () => {
    const { view, head } = { view: run.view.value, head: run.head.value }
    if (!view || !head) {
      states.value = undefined
      shownId = undefined
      return
    }
    if (shownId !== head.runId) {
      cells = new Map()
      shownId = head.runId
      states.value = cells
    }
    let grown = false
    const selected = run.selected.value === undefined ? undefined : run.numbers.value.get(run.selected.value)
    for (const [nodeId, { forming, elapsedMs, ...state }] of nodeStates({ view, graph: head.graph, steps: run.steps.value, route: run.route.value, ...(selected !== undefined && { selected }), ...(run.playhead.value !== undefined && { playhead: run.playhead.value }) })) {
      const next: NodeRunState = { ...state, ...(forming && { figures: figures(forming.tokens, forming.perSecond) }), ...(elapsedMs !== undefined && { elapsed: format.duration(elapsedMs) }) }
      const cell = cells.get(nodeId)
      if (!cell) {
        cells.set(nodeId, shallowRef(next))
        grown = true
      } else if (writeJson(cell.value) !== writeJson(next)) {
        cell.value = next
      }
    }
    if (grown) states.value = new Map(cells)
  }, { immediate: true })

  return states
}
