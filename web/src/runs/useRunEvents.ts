/**
 * Follows one run's events until the terminal one, and hands them on in portions, one a frame.
 *
 * The server numbers the events of a run and replays from the position it is given, so an event that was seen is
 * dropped and no view has to care. How a stream is kept alive (back-off, silence, sign-in) is the business of
 * `api/eventStream.ts`.
 */
import { onScopeDispose, readonly, ref, shallowRef, toValue, watch, type MaybeRefOrGetter } from 'vue'
import { tellUnauthenticated } from '@/api/client'
import { openEventStream, type EventStream, type StreamStatus } from '@/api/eventStream'
import type { RunEvent } from '@/api/types'
import { isTerminal } from './model/runView'

export function useRunEvents(runId: MaybeRefOrGetter<string | undefined>, receive: (events: RunEvent[]) => void) {
  const status = ref<StreamStatus>('connecting')
  /** When the state of the connection became what it is. */
  const since = shallowRef(new Date())
  const lastSeq = ref(0)
  let stream: EventStream | undefined
  let waiting: RunEvent[] = []
  let frame: number | undefined

  function flush() {
    frame = undefined
    const portion = waiting
    waiting = []
    if (portion.length > 0) receive(portion)
  }

  function take(event: RunEvent) {
    if ('seq' in event) lastSeq.value = event.seq
    waiting.push(event)
    frame ??= requestAnimationFrame(flush)
  }

  function stop() {
    stream?.close()
    stream = undefined
    if (frame !== undefined) cancelAnimationFrame(frame)
    frame = undefined
    waiting = []
  }

  watch(() => toValue(runId), (id) => {
    stop()
    lastSeq.value = 0
    status.value = 'connecting'
    if (id === undefined) return
    stream = openEventStream<RunEvent>(`/api/runs/${encodeURIComponent(id)}/events`, {
      lastSeq: () => lastSeq.value,
      receive: take,
      isLast: isTerminal,
      onStatus: (next) => {
        if (next !== status.value) since.value = new Date()
        status.value = next
      },
      onUnauthenticated: tellUnauthenticated,
    })
  }, { immediate: true })
  onScopeDispose(stop)

  return { status: readonly(status), since: readonly(since), lastSeq: readonly(lastSeq) }
}
