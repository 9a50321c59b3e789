/** Starting a run: of a saved workflow, or again of a graph that is no longer (or was never) saved. */
import { api, ok } from '@/api/client'
import type { GraphData, Mode, RunGiven } from '@/api/types'
import { without } from './model/without'

/** What is to be run: a saved workflow, or (`id` is null) a graph that is not saved. */
export interface Runnable {
  id: string | null
  name: string
  mode: Mode
  graphData: GraphData
  maxVisits?: number | null
  budget?: { tokens?: number | null, seconds?: number | null, cost?: number | null } | null
}

/** Answers the id of the run that was accepted. */
export async function startRun(runnable: Runnable, given: RunGiven): Promise<string> {
  const { id } = runnable
  const headers = { Accept: 'application/json' }
  if (id !== null) {
    const accepted = await ok(api.POST('/api/workflows/{workflow_id}/run', { params: { path: { workflow_id: id } }, body: given, headers }))
    return accepted.runId
  }
  const workflow = { name: runnable.name, mode: runnable.mode, graphData: runnable.graphData, maxVisits: runnable.maxVisits, budget: runnable.budget }
  const accepted = await ok(api.POST('/api/runs', { body: { ...without(given, 'version'), workflow } as never, headers }))
  return accepted.runId
}
