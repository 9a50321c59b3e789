/** The run of the question that is looked at: read when another is looked at, and when it was answered. */
import { shallowRef, watch, type Ref } from 'vue'
import { api, ok } from '@/api/client'
import type { Pause, RunDetail } from '@/api/types'

export function useAskedRun(held: Readonly<Ref<Pause | undefined>>) {
  const detail = shallowRef<RunDetail>()
  watch(() => [held.value?.runId, held.value?.status] as const, async ([runId]) => {
    if (detail.value?.runId !== runId) detail.value = undefined
    if (runId === undefined) return
    // The question can be answered without it.
    const found = await ok(api.GET('/api/runs/{run_id}', { params: { path: { run_id: runId } } })).catch(() => undefined)
    if (held.value?.runId === runId) detail.value = found
  }, { immediate: true })
  return detail
}
