/** What a run came to, whole: the event that tells it cuts what is large, the run itself does not. */
import { computed, shallowRef, watch, type Ref } from 'vue'
import { api, ok } from '@/api/client'
import type { Output, RunView } from './model/runView'

export function useWholeResults(id: Ref<string | undefined>, view: Ref<RunView | undefined>) {
  const whole = shallowRef<readonly Output[]>()
  const cutIn = computed(() => (view.value?.outputsCut ? id.value : undefined))

  watch(cutIn, async (runId) => {
    whole.value = undefined
    if (runId === undefined) return
    try {
      const run = await ok(api.GET('/api/runs/{run_id}', { params: { path: { run_id: runId } } }))
      if (cutIn.value === runId) whole.value = run.outputs
    } catch {
      // The beginning of each result is there, marked as cut.
    }
  }, { immediate: true })

  return computed(() => whole.value ?? view.value?.outputs ?? [])
}
