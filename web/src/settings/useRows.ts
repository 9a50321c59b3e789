/** A list that is loaded, changed and loaded again; what went wrong is told beside it. */
import { onMounted, ref, shallowRef } from 'vue'

export function useRows<Row>(fetchAll: () => Promise<{ items: Row[] }>) {
  const rows = shallowRef<Row[]>()
  const loadError = shallowRef<unknown>()
  const error = shallowRef<unknown>()
  const busy = ref(false)

  async function load() {
    loadError.value = undefined
    try {
      rows.value = (await fetchAll()).items
    } catch (failure) {
      loadError.value = failure
    }
  }

  async function attempt(action: () => Promise<unknown>) {
    error.value = undefined
    busy.value = true
    try {
      await action()
      await load()
    } catch (failure) {
      error.value = failure
    } finally {
      busy.value = false
    }
  }

  onMounted(load)
  return { rows, loadError, error, busy, load, attempt }
}
