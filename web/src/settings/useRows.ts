/** A list that is loaded, changed and loaded again; what went wrong is told beside it. */
import { onMounted, shallowRef } from 'vue'
import { useAttempt } from '@/ui/useAttempt'

export function useRows<Row>(fetchAll: () => Promise<{ items: Row[] }>) {
  const rows = shallowRef<Row[]>()
  const { error: loadError, attempt: tryToLoad } = useAttempt()
  const { busy, error, attempt: tryTo } = useAttempt()

  const load = () => tryToLoad(async () => { rows.value = (await fetchAll()).items })
  const attempt = (action: () => Promise<unknown>) => tryTo(async () => {
    await action()
    await load()
  })

  onMounted(load)
  return { rows, loadError, error, busy, load, attempt }
}
