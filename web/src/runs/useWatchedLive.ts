/** Whether the run that is shown was seen at work here, and is not only looked up. */
import { ref, watch } from 'vue'
import type { ShownRun } from './useShownRun'

export function useWatchedLive(run: Pick<ShownRun, 'id' | 'isLive'>) {
  const watched = ref(false)
  watch([run.id, run.isLive], ([id, isLive], [before]) => {
    if (id !== before) watched.value = false
    if (isLive) watched.value = true
  }, { immediate: true })
  return watched
}
