/**
 * What is fetched of a step only when it is looked at: its workspace, what changed, its calls, its whole output.
 *
 * The ten last opened are kept; those of a step that has not ended are asked for anew each time.
 */
import { onScopeDispose, ref, shallowRef, toValue, watch, type MaybeRefOrGetter } from 'vue'
import { api, ok } from '@/api/client'
import type { Call, Envelope, NodeRecord, WorkspaceDiff } from '@/api/types'
import type { Step } from './model/runView'

const KEPT = 10
const kept = new Map<string, Promise<unknown>>()

function once<T>(key: string, final: boolean, call: () => Promise<T>): Promise<T> {
  const known = kept.get(key) as Promise<T> | undefined
  kept.delete(key)
  const answer = known ?? call()
  if (!final) return answer
  kept.set(key, answer)
  answer.catch(() => { kept.delete(key) })
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT) break
    kept.delete(oldest)
  }
  return answer
}

const isFinal = (step: Step) => !['PENDING', 'RUNNING', 'PAUSED'].includes(step.status)
const visitPath = (runId: string, visitId: string) => ({ path: { run_id: runId, visit_id: visitId } })
const nodePath = (runId: string, nodeId: string) => ({ path: { run_id: runId, node_id: nodeId } })

/** The workspace after a visit, the latest written last. Of a DAG node: the variables that its templates used. */
export function fetchVariables(runId: string, step: Step): Promise<Record<string, unknown>> {
  return once(`${runId} ${step.key} variables`, isFinal(step), async () => (step.visitId !== undefined
    ? (await ok(api.GET('/api/runs/{run_id}/visits/{visit_id}/workspace', { params: visitPath(runId, step.visitId) }))).variables
    : (await nodeRecord(runId, step)).inputs))
}

export function fetchDiff(runId: string, step: Step, against?: string): Promise<WorkspaceDiff> {
  return once(`${runId} ${step.key} diff ${against ?? ''}`, isFinal(step), () => ok(api.GET('/api/runs/{run_id}/visits/{visit_id}/diff', {
    params: { ...visitPath(runId, step.visitId ?? ''), query: against === undefined ? {} : { against } },
  })))
}

/** Every call made there. The planner's comes after the step's end, so it counts as final with its decision. */
export function fetchCalls(runId: string, step: Step, decided: boolean): Promise<readonly Call[]> {
  return once(`${runId} ${step.key} calls ${decided}`, isFinal(step) && decided, async () => (step.visitId !== undefined
    ? (await ok(api.GET('/api/runs/{run_id}/visits/{visit_id}/calls', { params: visitPath(runId, step.visitId) }))).items
    : (await ok(api.GET('/api/runs/{run_id}/nodes/{node_id}/calls', { params: nodePath(runId, step.nodeId) }))).items))
}

/** The output of a step that events carry cut. */
export async function fetchOutput(runId: string, step: Step): Promise<Envelope | null> {
  if (step.visitId === undefined) return (await nodeRecord(runId, step)).output
  const { visitId } = step
  return (await once(`${runId} ${step.key} visit`, isFinal(step), () => ok(api.GET('/api/runs/{run_id}/visits/{visit_id}', { params: visitPath(runId, visitId) })))).output
}

function nodeRecord(runId: string, step: Step): Promise<NodeRecord> {
  return once(`${runId} ${step.key} node`, isFinal(step), () => ok(api.GET('/api/runs/{run_id}/nodes/{node_id}', { params: nodePath(runId, step.nodeId) })))
}

/** An answer that a component waits for: what came, what went wrong, and the way to ask again. */
export function useAnswer<T>(key: MaybeRefOrGetter<unknown>, ask: () => Promise<T> | undefined) {
  const value = shallowRef<T>()
  const error = shallowRef<unknown>()
  const waiting = ref(false)
  let turn = 0

  async function load() {
    turn += 1
    const mine = turn
    const answer = ask()
    if (!answer) {
      value.value = undefined
      return
    }
    waiting.value = true
    try {
      const came = await answer
      if (mine !== turn) return
      value.value = came
      error.value = undefined
    } catch (failure) {
      if (mine === turn) error.value = failure
    } finally {
      if (mine === turn) waiting.value = false
    }
  }
  watch(() => toValue(key), load, { immediate: true })
  onScopeDispose(() => { turn += 1 })
  return { value, error, waiting, load }
}
