/** What the runs inside a step ask people, at whatever depth. A question that was seen open stays, whoever answers it. */
import { computed, shallowRef, watch } from 'vue'
import { api, ok } from '@/api/client'
import type { Pause } from '@/api/types'
import { usePolling } from '@/ui/usePolling'
import type { SubRun } from '../model/runView'

const EVERY_MS = 2000
/** Runs that are asked at once; as they are answered, the next ones' questions come up. */
const MOST = 8

export function useInnerQuestions(runs: () => readonly SubRun[]) {
  const seen = shallowRef<ReadonlyMap<string, Pause>>(new Map())
  const error = shallowRef<unknown>()
  const waiting = computed(() => runs().filter(run => run.status === 'PAUSED').map(run => run.runId))
  /** A question that is shown as open may have been answered elsewhere, also after its run went on. */
  const shownOpen = () => runs().filter(run => [...seen.value.values()].some(pause => pause.status === 'OPEN' && pause.runId === run.runId)).map(run => run.runId)

  async function load() {
    const asked = [...new Set([...shownOpen(), ...waiting.value])].slice(0, MOST)
    if (asked.length === 0) return
    try {
      const lists = await Promise.all(asked.map(run_id => ok(api.GET('/api/runs/{run_id}/pauses', { params: { path: { run_id } } }))))
      const next = new Map(seen.value)
      for (const pause of lists.flatMap(list => list.items)) if (pause.status === 'OPEN' || next.has(pause.pauseId)) next.set(pause.pauseId, pause)
      seen.value = next
      error.value = undefined
    } catch (failure) {
      error.value = failure
    }
  }
  const polling = usePolling(load, EVERY_MS)
  watch(() => waiting.value.join(), () => { void polling.now() })
  const take = (pause: Pause) => { seen.value = new Map(seen.value).set(pause.pauseId, pause) }
  return { questions: computed(() => [...seen.value.values()]), error, reload: polling.now, take }
}
