/** A clock that ticks every half second while something is going on, and stands still else. */
import { onScopeDispose, shallowRef, watch } from 'vue'

export function useTicking(goesOn: () => boolean) {
  const now = shallowRef(new Date())
  let timer: ReturnType<typeof setInterval> | undefined
  watch(goesOn, (ticks) => {
    clearInterval(timer)
    timer = undefined
    now.value = new Date()
    if (ticks) timer = setInterval(() => { now.value = new Date() }, 500)
  }, { immediate: true })
  onScopeDispose(() => { clearInterval(timer) })
  return now
}
