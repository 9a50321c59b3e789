/** A list that is loaded, changed and loaded again; what went wrong is told beside it. */
import { onMounted, shallowRef } from 'vue'
import { useAttempt } from '@/ui/useAttempt'

export function useRows<Row>(fetchAll: () => Promise<{ items: Row[] }>) {
  const rows = shallowRef<Row[]>()
  const loadError = shallowRef<unknown>()
  const { busy, error, attempt: tryTo } = useAttempt()

  async function load() {
    loadError.value = undefined
    try {
      rows.value = (await fetchAll()).items
    } catch (failure) {
      loadError.value = failure
    }
  }

  const attempt = (action: () => Promise<unknown>) => tryTo(async () => {
    await action()
    await load()
  })

  onMounted(load)
  return { rows, loadError, error, busy, load, attempt }
}
