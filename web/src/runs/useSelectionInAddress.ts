/** Keeps the selected visit in the address as `?visit=<n>`, and selects what the address names. */
import { watch } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import { without } from './model/without'
import type { ShownRun } from './useShownRun'

export function useSelectionInAddress(run: ShownRun) {
  const address = useRoute()
  const router = useRouter()

  const named = () => {
    const n = Number(address.query['visit'])
    return Number.isInteger(n) && n > 0 ? n : undefined
  }
  // A visit that the address names may come later than the address: the stream brings it.
  watch([named, () => run.steps.value.length] as const, ([n], old) => {
    if (n === undefined) {
      if (old[0] !== undefined) run.select(undefined)
      return
    }
    const step = run.steps.value[n - 1]
    if (step && run.selected.value !== step.key) run.select(step.key)
  }, { immediate: true })

  watch(run.selected, (key) => {
    const n = key === undefined ? undefined : run.numbers.value.get(key)
    if (n === named() || (key === undefined && run.steps.value.length === 0)) return
    void router.replace({ query: { ...without(address.query, 'visit'), ...(n !== undefined && { visit: String(n) }) } })
  })
}
