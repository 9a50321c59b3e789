/**
 * The past visits that a test may take its variables from: the runs of the workflow, the visits of the chosen one, and the
 * variables of the chosen visit. A run in DAG mode has no visits: of it the node's own inputs are taken.
 */
import { computed, ref } from 'vue'
import { api, ok } from '@/api/client'
import type { GraphNode } from '@/api/types'
import { useRunList } from '@/runs/history/useRunList'
import { NO_FILTERS } from '@/runs/model/filters'
import { useAnswer } from '@/runs/useStepDetails'
import type { Trial } from './trials'

const isOver = (status: string) => !['PENDING', 'RUNNING', 'PAUSED'].includes(status)

export function useTestSource(workflowId: () => string, node: () => GraphNode, trial: () => Trial) {
  const runs = useRunList(workflowId, ref(NO_FILTERS))
  const chosen = useAnswer(() => trial().runId, () => (trial().runId === '' ? undefined : ok(api.GET('/api/runs/{run_id}', { params: { path: { run_id: trial().runId } } }))))
  const isDag = computed(() => chosen.value.value?.mode === 'DAG')
  const visits = computed(() => (chosen.value.value?.visits ?? []).filter(visit => isOver(visit.status)).sort((a, b) => b.sortOrder - a.sortOrder))
  const ranThere = computed(() => (chosen.value.value?.nodes ?? []).some(record => record.nodeId === node().id && record.startedAt !== null))

  const variables = useAnswer<Record<string, unknown>>(() => [trial().runId, trial().visitId, node().id, isDag.value && ranThere.value], ask)
  function ask() {
    const { runId, visitId } = trial()
    if (visitId !== '') return ok(api.GET('/api/runs/{run_id}/visits/{visit_id}/workspace', { params: { path: { run_id: runId, visit_id: visitId } } })).then(found => found.variables)
    if (!isDag.value || !ranThere.value) return undefined
    return ok(api.GET('/api/runs/{run_id}/nodes/{node_id}', { params: { path: { run_id: runId, node_id: node().id } } })).then(found => found.inputs)
  }
  return { runs, chosen, visits, isDag, ranThere, variables }
}

export type TestSource = ReturnType<typeof useTestSource>
