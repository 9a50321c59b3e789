/** A clock that every relative time on the page shares; it ticks while somebody looks. */
import { onScopeDispose, readonly, shallowRef } from 'vue'

const now = shallowRef(new Date())
let users = 0
let timer: ReturnType<typeof setInterval> | undefined

export function useNow() {
  users += 1
  now.value = new Date()
  timer ??= setInterval(() => { now.value = new Date() }, 15_000)
  onScopeDispose(() => {
    users -= 1
    if (users > 0) return
    clearInterval(timer)
    timer = undefined
  })
  return readonly(now)
}
