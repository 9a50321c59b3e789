/**
 * One run's event stream, kept alive: a reader on `fetch` that goes on where it was.
 *
 * The browser's own `EventSource` gives up for good on any answer but 200, hides the status, and takes a frozen
 * server for a quiet one; so the connection is ours. Where it goes on: `Last-Event-ID`, on the first request too.
 * When: after a back-off with jitter, at once when the network or the page comes back, after `Retry-After`.
 * What counts as life: any byte (a comment comes every 15 s). A hidden page holds no stream.
 */
import { createParser } from 'eventsource-parser'
import { readJson } from './json'

export type StreamStatus =
  | 'connecting' | 'live'
  /** Trying again; nothing is lost. */
  | 'again'
  | 'offline'
  /** The page is hidden, so the stream is closed. */
  | 'hidden'
  | 'ended'
  /** 404: no such run. */
  | 'gone'
  /** Another refusal that trying again would not change. */
  | 'refused'

export interface EventStream { close: () => void }

export interface EventStreamOptions<E> {
  /** The number of the last event that was seen. */
  lastSeq: () => number
  receive: (event: E) => void
  isLast: (event: E) => boolean
  onStatus?: (status: StreamStatus) => void
  onUnauthenticated?: () => void
  timing?: Partial<typeof TIMING>
  surroundings?: Surroundings
}

/** What the stream needs to know of the page around it. */
export interface Surroundings {
  isHidden: () => boolean
  isOffline: () => boolean
  /** Calls back when the page is shown or hidden, or the network comes or goes; answers how to stop. */
  onChange: (listener: () => void) => () => void
}

const TIMING = { firstMs: 250, mostMs: 10_000, silenceMs: 40_000 }

const page: Surroundings = {
  isHidden: () => document.hidden,
  isOffline: () => !navigator.onLine,
  onChange(listener) {
    document.addEventListener('visibilitychange', listener)
    for (const name of ['online', 'offline']) addEventListener(name, listener)
    return () => {
      document.removeEventListener('visibilitychange', listener)
      for (const name of ['online', 'offline']) removeEventListener(name, listener)
    }
  },
}

/** How one connection ended, and how long to wait at least before the next. */
type Outcome = { then: 'stop', status: StreamStatus } | { then: 'again', afterMs?: number }

export function openEventStream<E>(url: string, options: EventStreamOptions<E>): EventStream {
  const { firstMs, mostMs, silenceMs } = { ...TIMING, ...options.timing }
  const around = options.surroundings ?? page
  let stopped = false
  let failures = 0
  let connection: AbortController | undefined
  let wake: () => void = () => undefined

  const say = (status: StreamStatus) => { if (!stopped) options.onStatus?.(status) }

  function woken(afterMs?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = afterMs === undefined ? undefined : setTimeout(resolve, afterMs)
      wake = () => { clearTimeout(timer); resolve() }
    })
  }

  const stopListening = around.onChange(() => {
    if (around.isHidden() || around.isOffline()) connection?.abort()
    else failures = 0
    wake()
  })

  function close(status?: StreamStatus) {
    if (stopped) return
    if (status) say(status)
    stopped = true
    stopListening()
    connection?.abort()
    wake()
  }

  async function keepAlive() {
    say('connecting')
    while (!stopped) {
      if (around.isHidden()) { say('hidden'); await woken(); continue }
      if (around.isOffline()) { say('offline'); await woken(); continue }
      const outcome = await connect()
      if (outcome.then === 'stop') { close(outcome.status); return }
      if (stopped || around.isHidden() || around.isOffline()) continue
      say('again')
      const backOffMs = Math.min(mostMs, firstMs * 2 ** failures)
      failures += 1
      await woken(Math.max(outcome.afterMs ?? 0, backOffMs * (0.5 + Math.random() / 2)))
    }
  }

  async function connect(): Promise<Outcome> {
    connection = new AbortController()
    const { signal } = connection
    let watchdog: ReturnType<typeof setTimeout> | undefined
    const alive = () => { clearTimeout(watchdog); watchdog = setTimeout(() => connection?.abort(), silenceMs) }
    try {
      alive()
      const response = await fetch(url, { headers: headers(options.lastSeq()), credentials: 'same-origin', cache: 'no-store', signal })
      const refusal = refused(response)
      if (refusal) return refusal
      say('live')
      return await read(response, alive)
    } catch {
      return { then: 'again' }
    } finally {
      clearTimeout(watchdog)
      connection.abort()
    }
  }

  function refused(response: Response): Outcome | undefined {
    if (response.status === 200 && /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')) return undefined
    if (response.status === 401) {
      options.onUnauthenticated?.()
      return { then: 'stop', status: 'refused' }
    }
    if (response.status === 404) return { then: 'stop', status: 'gone' }
    const passes = response.status < 400 || response.status === 408 || response.status === 429 || response.status >= 500
    if (!passes) return { then: 'stop', status: 'refused' }
    const afterMs = retryAfterMs(response.headers.get('retry-after'))
    return { then: 'again', ...(afterMs !== undefined && { afterMs }) }
  }

  /** Hands on what comes until the last event, or until the connection breaks. */
  async function read(response: Response, alive: () => void): Promise<Outcome> {
    if (!response.body) return { then: 'again' }
    let ended = false
    const parser = createParser({
      onEvent({ data }) {
        if (stopped || ended) return
        const event = readJson(data) as E & { seq?: number }
        if (event.seq !== undefined && event.seq <= options.lastSeq()) return
        failures = 0
        options.receive(event)
        ended = options.isLast(event)
      },
    })
    const text = new TextDecoder()
    const reader = response.body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return { then: 'again' }
      alive()
      parser.feed(text.decode(value, { stream: true }))
      if (ended) return { then: 'stop', status: 'ended' }
    }
  }

  void keepAlive()
  return { close: () => { close() } }
}

function headers(lastSeq: number): Record<string, string> {
  return { 'Accept': 'text/event-stream', ...(lastSeq > 0 && { 'Last-Event-ID': String(lastSeq) }) }
}

/** Seconds or a date, as the header may say either; at most a minute is believed. */
export function retryAfterMs(header: string | null, now = Date.now()): number | undefined {
  if (header === null || header.trim() === '') return undefined
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isFinite(ms) ? Math.min(60_000, Math.max(0, ms)) : undefined
}
