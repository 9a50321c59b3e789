/** Which question is being answered on the canvas: that of the node whose *Answer* was pressed. */
import { shallowRef, watch } from 'vue'
import type { ShownRun } from './useShownRun'

export interface CanvasAsking { readonly nodeId: string, readonly pauseId: string }

export function useCanvasQuestion(run: ShownRun) {
  const asking = shallowRef<CanvasAsking>()
  watch(run.id, () => { asking.value = undefined })

  function answer(nodeId: string) {
    const step = run.steps.value.findLast(one => one.nodeId === nodeId && one.asked.some(asked => asked.endedAt === undefined))
    const open = step?.asked.find(asked => asked.endedAt === undefined)
    asking.value = open && { nodeId, pauseId: open.pauseId }
  }
  return { asking, answer, close: () => { asking.value = undefined } }
}
