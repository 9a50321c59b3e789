import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { openEventStream, retryAfterMs, type EventStream, type StreamStatus, type Surroundings } from './eventStream'

interface Event { seq?: number, type: string }

/** A server whose answers are written by hand, one a connection, and a page that can be hidden or offline. */
class Scene {
  readonly asked: (string | undefined)[] = []
  readonly events: Event[] = []
  readonly statuses: StreamStatus[] = []
  unauthenticated = 0
  hidden = false
  offline = false
  private readonly answers: ((response: ServerResponse) => void)[] = []
  private readonly listeners = new Set<() => void>()
  private readonly watchers = new Set<() => void>()
  private server: Server | undefined
  private stream: EventStream | undefined

  answer(next: (response: ServerResponse) => void) { this.answers.push(next) }
  change() { for (const listener of this.listeners) listener() }

  async open(timing: { firstMs?: number, mostMs?: number, silenceMs?: number } = {}) {
    const server = createServer((request, response) => {
      this.asked.push(request.headers['last-event-id'] as string | undefined)
      const next = this.answers.shift()
      if (next) next(response)
      this.stir()
    })
    this.server = server
    await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve) })
    const surroundings: Surroundings = {
      isHidden: () => this.hidden, isOffline: () => this.offline,
      onChange: (listener) => { this.listeners.add(listener); return () => { this.listeners.delete(listener) } },
    }
    this.stream = openEventStream<Event>(`http://127.0.0.1:${(server.address() as AddressInfo).port}/events`, {
      lastSeq: () => this.events.at(-1)?.seq ?? 0,
      receive: (event) => { this.events.push(event); this.stir() },
      isLast: event => event.type === 'end',
      onStatus: (status) => { this.statuses.push(status); this.stir() },
      onUnauthenticated: () => { this.unauthenticated += 1; this.stir() },
      timing: { firstMs: 1, mostMs: 4, silenceMs: 5000, ...timing }, surroundings,
    })
  }

  /** Waits until this holds; looked at whenever something happened. */
  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!holds()) return
        this.watchers.delete(look)
        resolve()
      }
      this.watchers.add(look)
      look()
    })
  }

  private stir() { for (const watcher of this.watchers) watcher() }

  close() {
    this.stream?.close()
    this.server?.closeAllConnections()
    this.server?.close()
  }
}

const line = (event: Event) => `${event.seq === undefined ? '' : `id: ${event.seq}\n`}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
const live = (response: ServerResponse, ...events: Event[]) => {
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' })
  response.write(`retry: 2000\n\n${events.map(line).join('')}`)
}
const step = (seq: number): Event => ({ seq, type: 'step' })
const last = (seq: number): Event => ({ seq, type: 'end' })

describe('the event stream', () => {
  let scene: Scene
  afterEach(() => { scene.close() })
  const seen = () => scene.events.map(event => event.seq)

  it('reads to the last event and stops', async () => {
    scene = new Scene()
    scene.answer((response) => { live(response, step(1), step(2), last(3)) })
    await scene.open()
    await scene.until(() => scene.statuses.at(-1) === 'ended')
    expect(seen()).toEqual([1, 2, 3])
    expect(scene.statuses).toEqual(['connecting', 'live', 'ended'])
    expect(scene.asked).toEqual([undefined])
  })
  it('goes on where it was after the connection broke, with nothing missing and nothing twice', async () => {
    scene = new Scene()
    scene.answer((response) => { live(response, step(1), step(2)); response.write('id: 3\nevent: step\ndata: {"se'); setImmediate(() => { response.destroy() }) })
    scene.answer((response) => { live(response, step(2), step(3)); response.end() })
    scene.answer((response) => { live(response, last(4)) })
    await scene.open()
    await scene.until(() => scene.statuses.at(-1) === 'ended')
    expect(seen()).toEqual([1, 2, 3, 4])
    expect(scene.asked).toEqual([undefined, '2', '3'])
  })
  it('tries again after 503, and after an answer that is no stream', async () => {
    scene = new Scene()
    for (let n = 0; n < 4; n += 1) scene.answer((response) => { response.writeHead(503, { 'Retry-After': '0' }).end() })
    scene.answer((response) => { response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>Bad gateway') })
    scene.answer((response) => { live(response, last(1)) })
    await scene.open()
    await scene.until(() => scene.statuses.at(-1) === 'ended')
    expect(scene.asked).toHaveLength(6)
    expect(seen()).toEqual([1])
  })
  it('leads to the sign-in page on 401, and gives up on 404 and on refusals', async () => {
    scene = new Scene()
    scene.answer((response) => { response.writeHead(401).end() })
    await scene.open()
    await scene.until(() => scene.statuses.at(-1) === 'refused')
    expect(scene.unauthenticated).toBe(1)
    scene.close()
    scene = new Scene()
    scene.answer((response) => { response.writeHead(404).end() })
    await scene.open()
    await scene.until(() => scene.statuses.at(-1) === 'gone')
    expect(scene.asked).toHaveLength(1)
  })
  it('leaves a server that has frozen, and takes a comment for life', async () => {
    scene = new Scene()
    let beats = 0
    scene.answer((response) => {
      live(response, step(1))
      const timer = setInterval(() => { beats += 1; response.write(': ping\n\n'); if (beats === 8) clearInterval(timer) }, 40)
    })
    scene.answer((response) => { live(response, last(2)) })
    await scene.open({ silenceMs: 120 })
    await scene.until(() => scene.statuses.at(-1) === 'ended')
    expect(beats).toBe(8)
    expect(scene.asked).toEqual([undefined, '1'])
  })
  it('holds no stream while the page is hidden or offline, and comes back at once', async () => {
    scene = new Scene()
    let closed = false
    scene.answer((response) => { live(response, step(1)); response.on('close', () => { closed = true }) })
    scene.answer((response) => { live(response, step(2)) })
    scene.answer((response) => { live(response, last(3)) })
    await scene.open({ firstMs: 60_000, mostMs: 60_000 })
    await scene.until(() => scene.events.length === 1)
    scene.hidden = true
    scene.change()
    await scene.until(() => scene.statuses.at(-1) === 'hidden')
    expect(scene.asked).toHaveLength(1)
    scene.hidden = false
    scene.change()
    await scene.until(() => scene.events.length === 2)
    expect(closed).toBe(true)
    scene.offline = true
    scene.change()
    await scene.until(() => scene.statuses.at(-1) === 'offline')
    scene.offline = false
    scene.change()
    await scene.until(() => scene.statuses.at(-1) === 'ended')
    expect(seen()).toEqual([1, 2, 3])
    expect(scene.asked).toEqual([undefined, '1', '2'])
  })
  it('hands on live text, which has no number', async () => {
    scene = new Scene()
    scene.answer((response) => { live(response, step(1), { type: 'text_delta' }, { type: 'text_delta' }, last(2)) })
    await scene.open()
    await scene.until(() => scene.statuses.at(-1) === 'ended')
    expect(scene.events.map(event => event.type)).toEqual(['step', 'text_delta', 'text_delta', 'end'])
  })
})

describe('Retry-After', () => {
  it('is read as seconds or as a date, and believed for a minute at most', () => {
    expect(retryAfterMs('2')).toBe(2000)
    expect(retryAfterMs('7200')).toBe(60_000)
    expect(retryAfterMs('Thu, 01 Jan 2026 00:00:05 GMT', Date.parse('2026-01-01T00:00:00Z'))).toBe(5000)
    expect(retryAfterMs('soon')).toBeUndefined()
    expect(retryAfterMs(null)).toBeUndefined()
  })
})
