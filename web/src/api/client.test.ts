// @vitest-environment happy-dom
import { beforeEach, describe, expect, it, vi } from 'vitest'

/** A server that answers as it is told, and remembers what it was asked. */
const asked: Request[] = []
let answer: () => Response | Promise<Response>
vi.stubGlobal('fetch', (request: Request) => {
  asked.push(request)
  return Promise.resolve(answer())
})
const { api, ok, setCsrfToken, whenUnauthenticated } = await import('./client')

const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status, headers: { 'Content-Type': status < 400 ? 'application/json' : 'application/problem+json' } })

describe('a call of the API', () => {
  beforeEach(() => {
    asked.length = 0
    setCsrfToken('token')
    whenUnauthenticated(() => undefined)
  })

  it('answers its data', async () => {
    answer = () => json({ items: [], total: 0 })
    expect(await ok(api.GET('/api/skills'))).toEqual({ items: [], total: 0 })
  })
  it('rounds no number, neither of the answer nor of what is sent', async () => {
    answer = () => new Response('{"inputs":{"id":9007199254740993}}', { headers: { 'Content-Type': 'application/json' } })
    const run = await ok(api.GET('/api/runs/{run_id}', { params: { path: { run_id: 'r' } } }))
    await ok(api.POST('/api/workflows/{workflow_id}/run', { params: { path: { workflow_id: 'w' } }, body: { inputs: run.inputs } }))
    expect(await asked[1]?.text()).toBe('{"inputs":{"id":9007199254740993}}')
    expect(asked[1]?.headers.get('Content-Type')).toBe('application/json')
  })
  it('carries the CSRF token when it writes, and not when it reads', async () => {
    answer = () => json({})
    await ok(api.GET('/api/settings'))
    await ok(api.PUT('/api/settings', { body: { language: 'en' } }))
    expect(asked.map(request => request.headers.get('X-CSRF-Token'))).toEqual([null, 'token'])
  })
  it('throws what the server found wrong', async () => {
    answer = () => json({ code: 'INVALID', detail: 'No name.', errors: [{ field: 'name', message: 'No name.' }] }, 422)
    await expect(ok(api.POST('/api/skills', { body: { source: '' } }))).rejects.toMatchObject({ status: 422, code: 'INVALID', message: 'No name.' })
  })
  it('tells of a session that has ended, but not when signing in itself is refused', async () => {
    const listener = vi.fn()
    whenUnauthenticated(listener)
    answer = () => json({ code: 'UNAUTHENTICATED', detail: 'Sign in.' }, 401)
    await expect(ok(api.POST('/api/auth/sign-in', { body: { secret: 'x' } }))).rejects.toMatchObject({ status: 401 })
    expect(listener).not.toHaveBeenCalled()
    await expect(ok(api.GET('/api/settings'))).rejects.toMatchObject({ status: 401 })
    expect(listener).toHaveBeenCalledTimes(1)
  })
  it('says when no answer came', async () => {
    answer = () => Promise.reject(new TypeError('connection refused'))
    await expect(ok(api.GET('/api/settings'))).rejects.toMatchObject({ status: 0, code: 'NETWORK' })
  })
})
