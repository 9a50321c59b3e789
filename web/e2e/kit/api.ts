/** The server's API as a program uses it: what a journey needs to be there before, and what it looks up afterwards. */
import { readJson, writeJson } from '../../src/api/json.ts'
import type { Pause, Run, RunDetail, Visit, Workflow } from '../../src/api/types.ts'
import type { Document } from './documents.ts'
import type { Session } from './session.ts'

const ENDED = new Set(['SUCCESS', 'FAILED', 'CANCELLED'])

export class Api {
  private constructor(readonly baseUrl: string, private readonly headers: Readonly<Record<string, string>>) {}

  static async withKey(baseUrl: string, session: Session, csrfToken: string): Promise<Api> {
    const cookie = session.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    const person = new Api(baseUrl, { 'cookie': cookie, 'x-csrf-token': csrfToken })
    const { key } = await person.post<{ key: string }>('/auth/api-keys', { name: 'journeys' })
    return new Api(baseUrl, { authorization: `Bearer ${key}` })
  }

  get = <T>(path: string) => this.#call<T>('GET', path)
  post = <T>(path: string, body: unknown = {}) => this.#call<T>('POST', path, body)
  put = <T>(path: string, body: unknown) => this.#call<T>('PUT', path, body)
  delete = (path: string) => this.#call<unknown>('DELETE', path)

  save = (document: Document) => this.post<Workflow>('/workflows', document)
  workflow = (id: string) => this.get<Workflow>(`/workflows/${id}`)
  detail = (runId: string) => this.get<RunDetail>(`/runs/${runId}`)
  visits = async (runId: string) => (await this.get<{ items: Visit[] }>(`/runs/${runId}/visits`)).items

  start = (workflowId: string, inputs: Record<string, unknown> = {}, more: Record<string, unknown> = {}) =>
    this.post<{ runId: string }>(`/workflows/${workflowId}/run`, { inputs, ...more })

  /** Saves a document, starts it, and waits until it waits for a person. */
  async asking(document: Document, inputs: Record<string, unknown> = {}): Promise<{ workflow: Workflow, runId: string, pause: Pause }> {
    const workflow = await this.save(document)
    const { runId } = await this.post<{ runId: string }>(`/workflows/${workflow.id}/run?wait=true`, { inputs })
    const pause = (await this.get<{ items: Pause[] }>(`/runs/${runId}/pauses`)).items.find(({ status }) => status === 'OPEN')
    if (!pause) throw new Error(`run ${runId} asks nothing`)
    return { workflow, runId, pause }
  }

  /** Saves a document and runs it to its end. */
  async played(document: Document, inputs: Record<string, unknown> = {}): Promise<{ workflow: Workflow, run: Run }> {
    const workflow = await this.save(document)
    return { workflow, run: await this.ran(workflow.id, inputs) }
  }

  async ran(workflowId: string, inputs: Record<string, unknown> = {}): Promise<Run> {
    const { runId } = await this.start(workflowId, inputs)
    return this.ended(runId)
  }

  /** Waits for a run's end by reading its event stream, which closes there. */
  async ended(runId: string): Promise<Run> {
    const stream = await fetch(`${this.baseUrl}/api/runs/${runId}/events`, { headers: { ...this.headers, accept: 'text/event-stream' } })
    await stream.text()
    const run = await this.detail(runId)
    if (!ENDED.has(run.status)) throw new Error(`run ${runId} is ${run.status}`)
    return run
  }

  async #call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(`${this.baseUrl}/api${path}`, {
      method,
      headers: { ...this.headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: writeJson(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return (text ? readJson(text) : undefined) as T
  }
}
