/** Plays a stored run step by step, from its record alone; nothing is run and no model is asked. */
import { computed, onScopeDispose, ref, watch } from 'vue'
import { stayMs, type Speed } from './model/replay'
import type { ShownRun } from './useShownRun'

export function usePlayer(run: ShownRun) {
  const playing = ref(false)
  const speed = ref<Speed>('one')
  let timer: ReturnType<typeof setTimeout> | undefined

  const last = computed(() => run.steps.value.length)
  const at = computed(() => run.playhead.value ?? last.value)

  function moveTo(n: number) {
    const next = Math.min(last.value, Math.max(1, n))
    run.playhead.value = next
    run.selected.value = run.steps.value[next - 1]?.key
  }
  function step(by: number) {
    stop()
    moveTo(at.value + by)
  }
  function stop() {
    playing.value = false
    clearTimeout(timer)
  }
  function play() {
    if (last.value === 0) return
    if (run.playhead.value === undefined || at.value >= last.value) moveTo(1)
    playing.value = true
    plan()
  }
  function plan() {
    clearTimeout(timer)
    const shown = run.steps.value[at.value - 1]
    if (!shown) return
    timer = setTimeout(() => {
      if (at.value >= last.value) {
        stop()
        return
      }
      moveTo(at.value + 1)
      plan()
    }, stayMs(shown, speed.value))
  }
  /** Shows the whole route again. */
  function leave() {
    stop()
    run.playhead.value = undefined
    run.selected.value = undefined
  }
  const toggle = () => { if (playing.value) stop(); else play() }

  watch(speed, () => { if (playing.value) plan() })
  watch(run.id, stop)
  onScopeDispose(() => { clearTimeout(timer) })
  return { playing, speed, at, last, play, stop, toggle, step, moveTo, leave }
}
export type Player = ReturnType<typeof usePlayer>
