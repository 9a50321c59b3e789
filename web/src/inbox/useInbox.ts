/** The questions of the inbox, and the one that is looked at: it stays in view also when it leaves the list. */
import { computed, ref, shallowRef, watch, type Ref } from 'vue'
import { api, ok } from '@/api/client'
import { toApiError } from '@/api/errors'
import type { Pause } from '@/api/types'
import { usePolling } from '@/ui/usePolling'

export const FILTERS = ['open', 'answered', 'expired'] as const
export type Filter = typeof FILTERS[number]

const list = async (status: Filter) => (await ok(api.GET('/api/pauses', { params: { query: { status } } }))).items

/** One question, whatever became of it; undefined where it is not there any more. */
async function one(pauseId: string): Promise<Pause | undefined> {
  try {
    return await ok(api.GET('/api/pauses/{pause_id}', { params: { path: { pause_id: pauseId } } }))
  } catch (failure) {
    if (toApiError(failure).status === 404) return undefined
    throw failure
  }
}

export function useInbox(pauseId: Readonly<Ref<string | undefined>>) {
  const filter = ref<Filter>('open')
  const pauses = shallowRef<Pause[]>()
  const error = shallowRef<unknown>()
  const held = shallowRef<Pause>()
  const gone = ref(false)
  const shown = computed(() => {
    const items = [...pauses.value ?? []]
    return filter.value === 'open'
      ? items.sort((a, b) => a.createdAt.localeCompare(b.createdAt))
      : items.sort((a, b) => (b.answeredAt ?? b.createdAt).localeCompare(a.answeredAt ?? a.createdAt))
  })

  async function hold() {
    const id = pauseId.value ?? held.value?.pauseId ?? shown.value[0]?.pauseId
    if (id === undefined) return
    const listed = pauses.value?.find(pause => pause.pauseId === id)
    if (!listed && held.value?.pauseId === id && held.value.status !== 'OPEN') return
    const found = listed ?? await one(id)
    if (pauseId.value !== undefined && pauseId.value !== id) return
    if (found) held.value = found
    gone.value = found === undefined
  }

  async function load() {
    const wanted = filter.value
    try {
      const items = await list(wanted)
      if (filter.value !== wanted) return
      pauses.value = items
      await hold()
      error.value = undefined
    } catch (failure) {
      error.value = failure
    }
  }
  const polling = usePolling(load, 2000)

  watch(filter, () => {
    pauses.value = undefined
    void load()
  })
  watch(pauseId, (id) => {
    if (held.value?.pauseId === id) return
    held.value = pauses.value?.find(pause => pause.pauseId === id)
    gone.value = false
    void load()
  })
  function answered(pause: Pause) {
    held.value = pause
    void load()
  }
  return { filter, pauses, shown, held, gone, error, answered, reload: polling.now }
}
