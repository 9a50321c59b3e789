/**
 * The runs that a list shows, newest first: the first page again every two seconds while somebody looks, further pages
 * when they are asked for. A run that changes keeps its place.
 */
import { computed, ref, shallowRef, watch, type Ref } from 'vue'
import { api, ok } from '@/api/client'
import type { ListedRun } from '@/api/types'
import { usePolling } from '@/ui/usePolling'
import { toApi, type RunFilters } from '../model/filters'

const EVERY_MS = 2000
const PAGE = 50

export function useRunList(workflowId: () => string | undefined, filters: Readonly<Ref<RunFilters>>) {
  const first = shallowRef<{ items: ListedRun[], total: number, nextCursor: string | null }>()
  const further = shallowRef<ListedRun[]>([])
  const cursor = ref<string | null>()
  const error = shallowRef<unknown>()
  const busy = ref(false)
  let turn = 0

  function page(after?: string) {
    const query = { ...toApi(filters.value), limit: PAGE, ...(after !== undefined && { cursor: after }) }
    const id = workflowId()
    return id === undefined ? ok(api.GET('/api/runs', { params: { query } })) : ok(api.GET('/api/workflows/{workflow_id}/runs', { params: { path: { workflow_id: id }, query } }))
  }
  async function load() {
    const mine = turn
    try {
      const came = await page()
      if (mine !== turn) return
      first.value = came
      error.value = undefined
    } catch (failure) {
      if (mine === turn) error.value = failure
    }
  }
  async function more() {
    const after = cursor.value ?? first.value?.nextCursor
    if (!after || busy.value) return
    busy.value = true
    const mine = turn
    try {
      const came = await page(after)
      if (mine !== turn) return
      further.value = [...further.value, ...came.items]
      cursor.value = came.nextCursor
    } catch (failure) {
      error.value = failure
    } finally {
      busy.value = false
    }
  }
  const polling = usePolling(load, EVERY_MS)
  watch([workflowId, filters], () => {
    turn += 1
    further.value = []
    cursor.value = undefined
    void load()
  })
  const items = computed(() => {
    const known = new Set(first.value?.items.map(run => run.runId))
    return first.value && [...first.value.items, ...further.value.filter(run => !known.has(run.runId))]
  })
  return {
    items, error, busy, more, load: polling.now,
    total: computed(() => first.value?.total ?? 0),
    hasMore: computed(() => (cursor.value === undefined ? first.value?.nextCursor : cursor.value) !== null && (first.value?.nextCursor ?? null) !== null),
  }
}
