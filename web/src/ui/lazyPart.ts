/**
 * A part of the page that comes when it is needed, and is fetched again until it is here.
 *
 * A server that is away for a moment must not leave a hole until the page is reloaded: it is asked again after a while,
 * when the network is back, and when the person says so. Meanwhile `UiLate` says so.
 */
import { defineAsyncComponent, shallowRef, type Component } from 'vue'

const FIRST_WAIT_MS = 1000
const LONGEST_WAIT_MS = 10_000

/** What fetches each waiting part at once. */
export const lateParts = shallowRef<ReadonlySet<() => void>>(new Set())
export function fetchLateParts() {
  for (const now of lateParts.value) now()
}

/** Until the time is up, the network is back, or the person asks. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      clearTimeout(timer)
      removeEventListener('online', go)
      lateParts.value = new Set([...lateParts.value].filter(other => other !== go))
      resolve()
    }
    const timer = setTimeout(go, ms)
    addEventListener('online', go)
    lateParts.value = new Set([...lateParts.value, go])
  })
}

/** A style sheet that failed stands in the page and is never asked for again by itself. */
function renewStyles() {
  for (const link of document.querySelectorAll<HTMLLinkElement>('link[rel="stylesheet"]')) if (!link.sheet) link.replaceWith(link.cloneNode())
}

export async function untilLoaded<T>(loader: () => Promise<T>): Promise<T> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
    try {
      return await loader()
    } catch {
      await pause(wait)
      renewStyles()
    }
  }
}

/** `standIn` stands in its place until it is here. */
export function lazyPart<T extends Component>(loader: () => Promise<{ default: T }>, standIn?: Component) {
  return defineAsyncComponent<T>({ loader: () => untilLoaded(loader), delay: 0, ...(standIn && { loadingComponent: standIn }) })
}
