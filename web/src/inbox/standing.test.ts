import { describe, expect, it } from 'vitest'
import type { NodeRecord, Pause, RunDetail, Visit } from '@/api/types'
import { standingOf } from './standing'

const graphData = { nodes: [{ id: 'A', type: 'llm', data: {} }, { id: 'B', type: 'smartAction', data: {} }], edges: [{ id: 'e', source: 'A', target: 'B' }] }
const said = (text: string) => ({ nodeId: 'A', nodeType: 'llm', data: { text }, meta: {} })
const visit = (n: number, nodeId: string, of: Partial<Visit> = {}) => ({ visitId: `v${n}`, nodeId, nodeType: 'llm', nodeLabel: nodeId, iterSeq: 1, fromVisitId: n > 1 ? `v${n - 1}` : null, onCanvas: true, status: 'SUCCESS', output: said(`of ${n}`), error: null, decision: null, ...of }) as Visit
const agentic = (...visits: Visit[]) => ({ mode: 'AGENTIC', graphData, maxVisits: 20, visits }) as unknown as RunDetail
const asks = (visitId: string | null, nodeId = 'B') => ({ visitId, nodeId }) as Pause

describe('where a run stands that asks', () => {
  it('is at the visit that asks: what went before, why it was sent there, and nothing that came after', () => {
    const run = agentic(visit(1, 'A', { decision: { reason: 'Ask the person.' } as Visit['decision'] }), visit(2, 'B', { status: 'PAUSED', output: null }), visit(3, 'A'))
    const { route, ...standing } = standingOf(run, asks('v2'))
    expect(route?.stops.map(({ n, status }) => [n, status])).toEqual([[1, 'SUCCESS'], [2, 'PAUSED']])
    expect(standing).toEqual({ n: 2, of: 20, decision: { reason: 'Ask the person.' }, before: [{ key: 'v1', label: 'A', iterSeq: 1, status: 'SUCCESS', said: 'of 1' }] })
  })
  it('tells the last four steps, and of one that failed what went wrong', () => {
    const failed = visit(6, 'A', { status: 'FAILED', output: null, error: { code: 'X', message: 'No answer.' } as Visit['error'] })
    const { before } = standingOf(agentic(...[1, 2, 3, 4, 5].map(n => visit(n, 'A')), failed, visit(7, 'B')), asks('v7'))
    expect(before.map(done => done.failure ?? done.said)).toEqual(['of 3', 'of 4', 'of 5', 'No answer.'])
  })
  it('of a DAG run is what has ended, in the order it ended', () => {
    const node = (nodeId: string, finishedAt: string | null, status = 'SUCCESS') => ({ nodeId, nodeType: 'llm', nodeLabel: nodeId, status, finishedAt, output: said(nodeId), error: null }) as unknown as NodeRecord
    const run = { mode: 'DAG', graphData, nodes: [node('late', '2026-01-02'), node('early', '2026-01-01'), node('asks', null, 'PAUSED'), node('left', '2026-01-01', 'SKIPPED')] } as unknown as RunDetail
    const { n, of, before, route } = standingOf(run, asks(null, 'asks'))
    expect([n, of, before.map(done => done.key), route]).toEqual([2, 4, ['early', 'late'], undefined])
  })
})
