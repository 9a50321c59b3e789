import { describe, expect, it } from 'vitest'
import type { ListedRun } from '@/api/types'
import { listedRoute, standsAt } from './listedRoute'

const stop = (nodeLabel: string, status: ListedRun['route'][number]['status'], more = {}) => ({ nodeId: nodeLabel, nodeLabel, status, iterSeq: 1, onCanvas: true, ...more })
const passed = [stop('Ask', 'SUCCESS'), stop('Fetch', 'FAILED'), stop('Write', 'SUCCESS')]

describe('the route of a listed run', () => {
  it('joins the visits of an AGENTIC run by drawn steps and jumps', () => {
    const { segments } = listedRoute({ mode: 'AGENTIC', status: 'SUCCESS', route: [...passed, stop('Ask', 'SUCCESS', { iterSeq: 2, onCanvas: false })] })
    expect(segments.map(({ kind }) => kind)).toEqual(['drawn', 'drawn', 'jump'])
  })

  it('joins no nodes of a DAG run: that one began after another says not that it led there', () => {
    const { stops, segments } = listedRoute({ mode: 'DAG', status: 'SUCCESS', route: passed })
    expect(stops.map(({ label }) => label)).toEqual(['Ask', 'Fetch', 'Write'])
    expect(segments).toEqual([])
  })

  it('names the node at which a run stands, and none of a run that is done', () => {
    expect(standsAt({ mode: 'DAG', status: 'FAILED', route: passed })).toBe('Fetch')
    expect(standsAt({ mode: 'DAG', status: 'PAUSED', route: [...passed, stop('Check', 'PAUSED'), stop('Count', 'RUNNING')] })).toBe('Check')
    expect(standsAt({ mode: 'DAG', status: 'RUNNING', route: passed })).toBeUndefined()
    expect(standsAt({ mode: 'DAG', status: 'SUCCESS', route: passed })).toBeUndefined()
  })
})
