/** Which entry of a searched list is the active one: the arrows walk through it, Enter takes it, another search begins at its first. */
import { nextTick, ref, watch, type Ref } from 'vue'

export function useActiveEntry<Entry>(entries: () => readonly Entry[], search: () => unknown, list: Readonly<Ref<HTMLElement | null>>) {
  const active = ref(0)
  watch(search, () => { active.value = 0 })

  function onKey(event: KeyboardEvent, take: (entry: Entry) => void) {
    const last = entries().length - 1
    const entry = entries()[active.value]
    if (event.key === 'ArrowDown') active.value = active.value >= last ? 0 : active.value + 1
    else if (event.key === 'ArrowUp') active.value = active.value <= 0 ? Math.max(0, last) : active.value - 1
    else if (event.key !== 'Enter' || event.isComposing) return
    else if (entry !== undefined) take(entry)
    event.preventDefault()
    void nextTick(() => list.value?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' }))
  }
  return { active, onKey }
}
