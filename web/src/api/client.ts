/**
 * The typed client of the server's API. Every call of the page goes through it.
 *
 * A call answers its data or throws an `ApiError`: `const page = await ok(api.GET('/api/workflows'))`.
 * The session is a cookie; writing calls carry the token that came with it. A 401 is told to whoever
 * asked to hear of it (the shell, which leads to the sign-in page), and thrown like any other failure.
 */
import createClient, { type Middleware } from 'openapi-fetch'
import { ApiError, readProblem } from './errors'
import { readJson, writeJson } from './json'
import type { paths } from './schema'

let csrfToken: string | undefined
let onUnauthenticated: () => void = () => undefined

export function setCsrfToken(token: string | undefined) {
  csrfToken = token
}
export function whenUnauthenticated(listener: () => void) {
  onUnauthenticated = listener
}
/** For what reads the server by another way than `api` (the event stream). */
export function tellUnauthenticated() {
  onUnauthenticated()
}

const READING = new Set(['GET', 'HEAD', 'OPTIONS'])

const session: Middleware = {
  onRequest({ request }) {
    if (!READING.has(request.method) && csrfToken !== undefined) request.headers.set('X-CSRF-Token', csrfToken)
    return request
  },
  async onResponse({ request, response, schemaPath }) {
    if (response.ok) return undefined
    if (response.status === 401 && !schemaPath.startsWith('/api/auth/')) onUnauthenticated()
    throw await readProblem(response, callOf(request))
  },
  onError({ request, error }) {
    if (error instanceof DOMException && error.name === 'AbortError') return error
    return new ApiError(0, 'NETWORK', 'No answer came from the server.', { call: callOf(request) })
  },
}

function callOf(request: Request): string {
  return `${request.method} ${new URL(request.url).pathname}`
}

const client = createClient<paths>({ baseUrl: '', credentials: 'same-origin', bodySerializer: (body: unknown) => (body instanceof FormData ? body : writeJson(body)) })
client.use(session)

/** Answers come as text: the library's own reading would round large integers. `ok` reads them. */
const asText = <Call>(call: Call) => ((path: string, init?: object) => (call as (path: string, init: object) => unknown)(path, { ...init, parseAs: 'text' })) as Call

export const api = { GET: asText(client.GET), POST: asText(client.POST), PUT: asText(client.PUT), PATCH: asText(client.PATCH), DELETE: asText(client.DELETE) }

/** The data of a call that went well; a call that did not has thrown already. */
export async function ok<T>(call: Promise<{ data?: T, response: Response }>): Promise<T> {
  const { data } = await call
  return (typeof data === 'string' && data !== '' ? readJson(data) : undefined) as T
}

/** The body of an upload: one file under the name that the API asks for. */
export function fileForm(file: File): FormData {
  const form = new FormData()
  form.append('file', file, file.name)
  return form
}
