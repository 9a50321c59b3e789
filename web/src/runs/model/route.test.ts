import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readGraph } from '@/api/graph'
import { recorded } from '../recorded/recorded'
import { chipText, lines, lookOf, route, walkedEdges } from './route'
import { begin, fold } from './runView'
import { badgeOf } from './steps'

function routeOf(name: 'loop-back' | 'weather') {
  const { detail, events } = recorded(name)
  const graph = readGraph(detail.graphData)
  const view = fold(begin(detail.mode, graph), events, graph)
  return { view, graph, ...route(view.steps, graph.edges) }
}

describe('the route of a run', () => {
  it('has a stop for every visit, never merged, and says how each was reached', () => {
    const { stops } = routeOf('loop-back')
    expect(stops.map(stop => [stop.n, stop.nodeId, stop.reached, stop.backTo])).toEqual([
      [1, 'ask', 'start', undefined], [2, 'draft', 'drawn', undefined], [3, 'check', 'drawn', undefined], [4, 'fault', 'drawn', undefined],
      [5, 'draft', 'jump', 2], [6, 'check', 'drawn', 3], [7, 'answer', 'drawn', undefined],
    ])
  })
  it('lays drawn steps on the edge that the visit activated', () => {
    const { segments } = routeOf('loop-back')
    expect(segments.map(segment => [segment.n, segment.kind, segment.edgeId])).toEqual([
      [2, 'drawn', 'e-ask-output-draft'], [3, 'drawn', 'e-draft-output-check'], [4, 'drawn', 'e-check-branch-1-fault'],
      [5, 'jump', undefined], [6, 'drawn', 'e-draft-output-check'], [7, 'drawn', 'e-check-branch-0-answer'],
    ])
  })
  it('gives one line to steps between the same two nodes, so that lines never outnumber pairs', () => {
    const { segments } = routeOf('loop-back')
    expect(lines(segments).map(line => line.visits)).toEqual([[2], [3, 6], [4], [5], [7]])
  })
  it('agrees with the badges of the chain', () => {
    const { view, stops } = routeOf('loop-back')
    for (const [index, step] of view.steps.entries()) expect(stops[index]?.reached === 'jump').toBe(badgeOf(step) === 'jump')
    expect(view.steps.map(badgeOf)).toEqual(['start', 'drawn', 'drawn', 'drawn', 'jump', 'revisit', 'drawn'])
  })
  it('shows a stop behind the playhead as later, and otherwise what is chosen or happens now', () => {
    const stop = { n: 3, key: 'x', nodeId: 'A', label: 'A', iterSeq: 1, reached: 'jump', status: 'SUCCESS' } as const
    expect(lookOf(stop)).toBe('jump')
    expect(lookOf(stop, { playhead: 2 })).toBe('later')
    expect(lookOf(stop, { selected: 3 })).toBe('selected')
    expect(lookOf({ ...stop, status: 'FAILED' })).toBe('failed')
    expect(lookOf({ ...stop, status: 'RUNNING' })).toBe('now')
  })
  it('numbers its stops without gaps and its arcs lead back to the same node', () => {
    const visits = fc.array(fc.record({ node: fc.constantFrom('A', 'B', 'C'), onCanvas: fc.boolean() }), { maxLength: 50 })
    fc.assert(fc.property(visits, (made) => {
      const steps = made.map(({ node, onCanvas }, index) => ({
        key: String(index), nodeId: node, nodeLabel: node, nodeType: 'llm', iterSeq: 1, status: 'SUCCESS' as const, onCanvas, output: null, ...(index > 0 && { fromVisitId: String(index - 1) }),
      }))
      const { stops, segments } = route(steps, [])
      expect(stops.map(stop => stop.n)).toEqual(steps.map((_, index) => index + 1))
      expect(segments).toHaveLength(Math.max(0, steps.length - 1))
      for (const stop of stops) if (stop.backTo !== undefined) expect(stops[stop.backTo - 1]?.nodeId).toBe(stop.nodeId)
      expect(lines(segments).flatMap(line => line.visits).sort((a, b) => a - b)).toEqual(segments.map(segment => segment.n))
    }))
  })
  it('names the visits of a line on its chip', () => {
    expect(chipText([5])).toEqual({ text: '5' })
    expect(chipText([3, 7, 9])).toEqual({ text: '3 · 7 · 9' })
    expect(chipText([3, 7, 9, 11, 15, 21])).toEqual({ text: '3 · 7 · … · 21', count: '×6' })
  })
})

describe('a DAG run', () => {
  it('went along the edges of the chosen branch alone', () => {
    const { view, graph } = routeOf('weather')
    const went = walkedEdges(view.steps, graph.edges)
    const skipped = new Set(view.steps.filter(step => step.status === 'SKIPPED').map(step => step.nodeId))
    expect(skipped.size).toBeGreaterThan(0)
    for (const edge of graph.edges) if (skipped.has(edge.target) || skipped.has(edge.source)) expect(went.has(edge.id)).toBe(false)
    expect(went.size).toBe(graph.edges.filter(edge => !skipped.has(edge.target) && !skipped.has(edge.source)).length)
  })
})
