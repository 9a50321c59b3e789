/**
 * Repeats a call while the page is visible, and at once when it becomes visible again.
 *
 * One call at a time: the next is planned when the last has answered. What it throws is the caller's to show.
 */
import { onScopeDispose } from 'vue'

export function usePolling(call: () => Promise<unknown>, everyMs: number) {
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopped = false
  let running = false

  async function turn() {
    clearTimeout(timer)
    if (stopped || running || document.hidden) return
    running = true
    try {
      await call()
    } finally {
      running = false
      if (!stopped) timer = setTimeout(() => { void turn() }, everyMs)
    }
  }

  const onVisible = () => { void turn() }
  document.addEventListener('visibilitychange', onVisible)
  onScopeDispose(() => {
    stopped = true
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', onVisible)
  })
  void turn()
  return { now: turn }
}
