// @vitest-environment happy-dom
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { effectScope, ref, shallowRef } from 'vue'
import { begin, fold, type RunView } from './model/runView'

const asked: string[] = []
vi.stubGlobal('fetch', (request: Request) => {
  asked.push(new URL(request.url).pathname)
  return Promise.resolve(new Response(JSON.stringify({ outputs: [{ nodeId: 'out', result: 'the whole text' }] }), { headers: { 'Content-Type': 'application/json' } }))
})
const { useWholeResults } = await import('./useWholeResults')

const graph = { nodes: [], edges: [] }
const cut = { __truncated__: true, size: 14, head: 'the' }

function ended(result: unknown, more: object): RunView {
  const data = { success: true, outputs: [{ nodeId: 'out', result }], usage: {}, visitCount: 1, durationMs: 1, ...more }
  const event = { runId: 'a', type: 'workflow_complete', seq: 1, timestamp: '2026-01-31T12:00:00.000Z', data }
  return fold(begin('AGENTIC', graph), [event as unknown as Parameters<typeof fold>[1][number]], graph)
}

function resultsOf(view: RunView) {
  const scope = effectScope()
  const results = scope.run(() => useWholeResults(ref('a'), shallowRef(view)))
  return { scope, first: () => results?.value[0]?.result }
}

describe('what a run came to', () => {
  beforeEach(() => { asked.length = 0 })

  it('is as its last event tells it', () => {
    const { scope, first } = resultsOf(ended('all of it', {}))
    expect(first()).toBe('all of it')
    expect(asked).toEqual([])
    scope.stop()
  })
  it('is asked for where the event tells it cut', async () => {
    const { scope, first } = resultsOf(ended(cut, { outputsTruncated: true, outputsSize: 14 }))
    expect(first()).toEqual(cut)
    await vi.waitFor(() => { expect(first()).toBe('the whole text') })
    expect(asked).toEqual(['/api/runs/a'])
    scope.stop()
  })
})
