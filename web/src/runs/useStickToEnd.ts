/**
 * Keeps the end of a growing list in view, as long as it was in view; else counts what is new below.
 *
 * The person's scroll is theirs: nothing moves while they look at something above. A question that waits is read from its
 * beginning, however long it is (`data-asks` marks it).
 */
import { onScopeDispose, ref, watch, type Ref } from 'vue'

const NEAR = 48

export function useStickToEnd(scroller: Readonly<Ref<HTMLElement | null>>, count: () => number) {
  const unseen = ref(0)
  let stuck = true
  /** A question in which a person has scrolled: from there on it stays where they put it, however it grows. */
  let read: Element | null = null
  let observer: ResizeObserver | undefined

  const isAtEnd = (element: HTMLElement) => element.scrollHeight - element.scrollTop - element.clientHeight < NEAR
  const asking = (element: HTMLElement) => element.querySelector('[data-asks]')
  const onScroll = () => {
    if (!scroller.value) return
    if (scroller.value.scrollTop === placed) return
    stuck = isAtEnd(scroller.value)
    read = asking(scroller.value)
    if (stuck) unseen.value = 0
  }
  function toEnd() {
    if (!scroller.value) return
    stuck = true
    unseen.value = 0
    scroller.value.scrollTop = scroller.value.scrollHeight
  }
  /** Where it was scrolled to here and not by a person. */
  let placed = -1
  function grown(element: HTMLElement) {
    if (!stuck || element.scrollHeight <= element.clientHeight || !isFollowing) return
    const asks = asking(element)
    if (asks && asks === read) return
    const top = asks ? element.scrollTop + asks.getBoundingClientRect().top - element.getBoundingClientRect().top - NEAR : Infinity
    element.scrollTop = Math.min(element.scrollHeight, top)
    placed = element.scrollTop
  }

  watch(scroller, (element, before) => {
    before?.removeEventListener('scroll', onScroll)
    observer?.disconnect()
    if (!element) return
    element.addEventListener('scroll', onScroll, { passive: true })
    observer = new ResizeObserver(() => { grown(element) })
    for (const child of element.children) observer.observe(child)
  }, { immediate: true })
  watch(count, (now, before) => { if (!stuck && now > before) unseen.value += now - before })
  onScopeDispose(() => {
    scroller.value?.removeEventListener('scroll', onScroll)
    observer?.disconnect()
    clearTimeout(ending)
  })

  let isFollowing = false
  let ending: ReturnType<typeof setTimeout> | undefined
  /** A run that has ended is read from the top: nothing is followed any more. */
  function follow(yes: boolean) {
    clearTimeout(ending)
    if (yes) isFollowing = true
    // What came with the end is still to be laid out.
    else ending = setTimeout(() => { isFollowing = false }, 400)
  }
  return { unseen, toEnd, follow }
}
