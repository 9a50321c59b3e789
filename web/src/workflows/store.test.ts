// @vitest-environment happy-dom
import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, describe, expect, it, vi } from 'vitest'

/** A server with two workflows, of which one may not be deleted. */
let stored = ['a', 'b']
const summary = (id: string) => ({ id, name: id, lastRuns: [] })
const respond = (body: unknown, status = 200) => new Response(status === 204 ? null : JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } })
vi.stubGlobal('fetch', (request: Request) => {
  const id = /workflows\/(\w+)/.exec(request.url)?.[1] ?? ''
  if (request.method === 'GET') return Promise.resolve(respond({ items: stored.map(summary), nextCursor: null, total: stored.length }))
  if (request.method === 'DELETE' && id === 'b') return Promise.resolve(respond({ code: 'RUNS_OPEN', detail: 'Open.', errors: [] }, 409))
  if (request.method === 'DELETE') stored = stored.filter(other => other !== id)
  else stored.push(id)
  return Promise.resolve(request.method === 'DELETE' ? respond(null, 204) : respond({ id }))
})
const { useWorkflows } = await import('./store')

const ids = () => useWorkflows().items?.map(item => item.id)

describe('deleting a workflow', () => {
  beforeEach(async () => {
    stored = ['a', 'b']
    setActivePinia(createPinia())
    await useWorkflows().load()
  })

  it('takes it off the list at once', () => {
    void useWorkflows().remove('a')
    expect(ids()).toEqual(['b'])
  })
  it('is not undone by a list that was asked for before', async () => {
    const late = useWorkflows().load()
    const removed = useWorkflows().remove('a')
    await late
    expect(ids()).toEqual(['b'])
    await removed
  })
  it('brings it back when the server refuses', async () => {
    await expect(useWorkflows().remove('b')).rejects.toMatchObject({ code: 'RUNS_OPEN' })
    expect(ids()).toEqual(['a', 'b'])
  })
  it('can be taken back', async () => {
    await useWorkflows().remove('a')
    await useWorkflows().restore('a')
    expect(ids()).toEqual(['b', 'a'])
  })
})
