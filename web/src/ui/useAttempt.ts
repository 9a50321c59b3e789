/** One thing a person asked for at a time: whether it is still on its way, and what went wrong with the last. */
import { ref, shallowRef } from 'vue'

export function useAttempt() {
  const busy = ref(false)
  const error = shallowRef<unknown>()

  async function attempt(action: () => Promise<unknown>) {
    busy.value = true
    error.value = undefined
    try {
      await action()
    } catch (failure) {
      error.value = failure
    } finally {
      busy.value = false
    }
  }
  return { busy, error, attempt }
}
