import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readGraph } from '@/api/graph'
import type { RunEvent, Visit } from '@/api/types'
import { recorded } from '../recorded/recorded'
import { begin, fold, formingKey, type RunView } from './runView'

function folded(name: Parameters<typeof recorded>[0], events = recorded(name).events): RunView {
  const { detail } = recorded(name)
  const graph = readGraph(detail.graphData)
  return fold(begin(detail.mode, graph), events, graph)
}

const place = (visit: Visit) => [visit.visitId, visit.nodeId, visit.nodeType, visit.nodeLabel, visit.iterSeq, visit.sortOrder, visit.fromVisitId ?? undefined, visit.isFlyBack, visit.onCanvas, visit.status, visit.output, visit.error, visit.attempts]

describe('folding the events of a run', () => {
  it.each(['loop-back', 'review-loop'] as const)('gives the visits that the server stored: %s', (name) => {
    const { detail } = recorded(name)
    const view = folded(name)
    expect(view.steps.map(step => [step.visitId, step.nodeId, step.nodeType, step.nodeLabel, step.iterSeq, step.sortOrder, step.fromVisitId, step.isFlyBack, step.onCanvas, step.status, step.output, step.error, step.attempts]))
      .toEqual(detail.visits?.map(place))
    expect(view.steps.map(step => step.decision ?? null)).toEqual(detail.visits?.map(visit => visit.decision))
    expect([view.status, view.outputs, view.inputs, view.usage]).toEqual([detail.status, detail.outputs, detail.inputs, detail.usage])
  })
  it.each(['weather', 'three-views'] as const)('gives the node records that the server stored: %s', (name) => {
    const { detail } = recorded(name)
    const view = folded(name)
    expect(view.steps.map(step => [step.nodeId, step.nodeType, step.nodeLabel, step.status, step.output, step.error]))
      .toEqual(detail.nodes?.map(node => [node.nodeId, node.nodeType, node.nodeLabel, node.status, node.output, node.error]))
    expect([view.status, view.outputs]).toEqual([detail.status, detail.outputs])
  })
  it('gives the same however the events were cut into portions and repeated', () => {
    const { events, detail } = recorded('loop-back')
    const graph = readGraph(detail.graphData)
    fc.assert(fc.property(fc.array(fc.tuple(fc.nat(events.length), fc.nat(6))), (reconnects) => {
      let view = begin(detail.mode, graph)
      for (const [at, back] of reconnects.sort(([a], [b]) => a - b)) view = fold(view, events.slice(Math.max(0, Math.min(view.lastSeq, at) - back), at), graph)
      view = fold(view, events, graph)
      expect(view).toEqual(folded('loop-back'))
    }))
  })
  it('leaves a step alone that an event does not touch, so that its card is not drawn anew', () => {
    const { events, detail } = recorded('loop-back')
    const graph = readGraph(detail.graphData)
    const before = fold(begin(detail.mode, graph), events.slice(0, 8), graph)
    const after = fold(before, events.slice(8, 10), graph)
    expect(after.steps[0]).toBe(before.steps[0])
    expect(after.steps[1]).not.toBe(before.steps[1])
  })
  it('gathers live text until its step ends, and a snapshot replaces it', () => {
    const { events, detail } = recorded('loop-back')
    const graph = readGraph(detail.graphData)
    const running = fold(begin(detail.mode, graph), events.slice(0, 6), graph)
    const step = running.steps[1]
    const said = (type: 'text_delta' | 'text_snapshot', text: string): RunEvent => ({ runId: detail.runId, type, timestamp: '2026-01-01T00:00:00Z', data: { source: 'node', nodeId: 'draft', visitId: step?.visitId ?? null, attempt: 1, text } })
    const forming = (view: RunView) => view.forming.get(formingKey('node', step?.key ?? ''))?.text
    const twice = fold(running, [said('text_delta', 'Come'), said('text_delta', ' to')], graph)
    expect(forming(twice)).toBe('Come to')
    const again = fold(twice, [said('text_snapshot', 'Co'), said('text_delta', 'me')], graph)
    expect(forming(again)).toBe('Come')
    expect(forming(fold(again, events.slice(6, 8), graph))).toBeUndefined()
  })
  it('keeps failed attempts, tool calls and questions with their step', () => {
    const { events, detail } = recorded('loop-back')
    const graph = readGraph(detail.graphData)
    const at = { nodeId: 'draft', visitId: String((events[5] as { data: { visitId: string } }).data.visitId) }
    const error = { code: 'MODEL_TIMEOUT', message: 'No answer came.', node: null, field: null, fix: null }
    const more = ([
      ['node_retry', { ...at, attempt: 1, error, waitMs: 500 }],
      ['tool_call', { ...at, callId: 'c1', name: 'search', at: '2026-01-01T00:00:01Z', arguments: { q: 'tides' } }],
      ['tool_result', { ...at, callId: 'c1', name: 'search', result: 'found', error: null, durationMs: 12 }],
      ['clarify_request', { ...at, pauseId: 'p1', kind: 'question', questions: [{ id: 'q', text: 'Which tide?', choices: null, multi: null, schema: null }], expiresAt: null }],
      ['run_paused', { pauseIds: ['p1'] }],
      ['clarify_answered', { ...at, pauseId: 'p1', kind: 'question', answers: [{ questionId: 'q', value: 'spring' }], by: 'local' }],
    ] as const).map(([type, data], index) => ({ runId: detail.runId, seq: 7 + index, timestamp: `2026-01-01T00:00:0${index}Z`, type, data }) as unknown as RunEvent)
    const running = fold(begin(detail.mode, graph), events.slice(0, 6), graph)
    const paused = fold(running, more.slice(0, 5), graph)
    expect(paused.status).toBe('PAUSED')
    const step = fold(paused, more.slice(5), graph).steps[1]
    expect(step?.retries).toEqual([{ attempt: 1, error, waitMs: 500 }])
    expect(step?.tools).toEqual([{ callId: 'c1', name: 'search', at: '2026-01-01T00:00:01Z', arguments: { q: 'tides' }, result: 'found', error: null, durationMs: 12 }])
    expect(step?.asked[0]).toMatchObject({ pauseId: 'p1', by: 'local', endedAt: '2026-01-01T00:00:05Z' })
  })
})
