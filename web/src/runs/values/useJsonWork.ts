/** JSON of many megabytes is read and written by a worker, so that the page goes on answering. One worker for all. */

export type JsonWork = { readonly id: number } & ({ readonly kind: 'parse', readonly text: string } | { readonly kind: 'format', readonly value: unknown })
export interface JsonAnswer { readonly id: number, readonly value?: unknown, readonly text?: string }

let worker: Worker | undefined
let lastId = 0
const waiting = new Map<number, (answer: JsonAnswer) => void>()

function started(): Worker {
  if (worker) return worker
  worker = new Worker(new URL('./json.worker.ts', import.meta.url), { type: 'module' })
  worker.addEventListener('message', ({ data }: MessageEvent<JsonAnswer>) => {
    waiting.get(data.id)?.(data)
    waiting.delete(data.id)
  })
  return worker
}

function ask(work: (id: number) => JsonWork): Promise<JsonAnswer> {
  lastId += 1
  const id = lastId
  return new Promise((resolve) => {
    waiting.set(id, resolve)
    started().postMessage(work(id))
  })
}

/** The value of a text, or nothing where the text is no JSON. */
export const parsed = async (text: string): Promise<unknown> => (await ask(id => ({ id, kind: 'parse', text }))).value
export const formatted = async (value: unknown): Promise<string> => (await ask(id => ({ id, kind: 'format', value }))).text ?? ''
