import { describe, expect, it } from 'vitest'
import type { Comparison, Visit } from '@/api/types'
import { recorded } from '../recorded/recorded'
import { change, comparedRows, firstDifference, routeOfSide } from './comparison'

const { detail } = recorded('loop-back')
const visits = detail.visits as Visit[]
const same = (visit: Visit | undefined) => ({ relation: 'same' as const, a: visit ?? null, b: visit ?? null })
const only = (side: 'a' | 'b', visit: Visit | undefined) => ({ relation: `only_${side}` as 'only_a' | 'only_b', a: side === 'a' ? visit ?? null : null, b: side === 'b' ? visit ?? null : null })
const compared = (...steps: Comparison['steps']) => ({ a: detail, b: detail, steps, variables: [], usage: {}, durationMs: {} }) as unknown as Comparison

describe('two runs side by side', () => {
  it('count their own visits where one went further', () => {
    const rows = comparedRows(compared(same(visits[0]), only('a', visits[1]), same(visits[2]), only('b', visits[3])))
    expect(rows.map(row => [row.a?.n, row.b?.n])).toEqual([[1, 1], [2, undefined], [3, 2], [undefined, 3]])
  })
  it('part at the decision after the last visit they share', () => {
    const parted = firstDifference(comparedRows(compared(same(visits[0]), same(visits[1]), only('a', visits[2]))))
    expect([parted?.at, parted?.kind, parted?.after?.a.n]).toEqual([2, 'decision', 2])
  })
  it('part at an output where the same node said something else', () => {
    expect(firstDifference(comparedRows(compared(same(visits[0]), { relation: 'differs', a: visits[1] ?? null, b: visits[1] ?? null })))?.kind).toBe('output')
  })
  it('part nowhere when they are the same', () => {
    expect(firstDifference(comparedRows(compared(...visits.map(same))))).toBeUndefined()
  })
  it('have each a route of their own', () => {
    const rows = comparedRows(compared(...visits.map(same)))
    expect(routeOfSide(rows, 'a').stops.map(stop => stop.reached)).toEqual(['start', 'drawn', 'drawn', 'drawn', 'jump', 'drawn', 'drawn'])
  })
  it('tell the change in per cent, and nothing where there is nothing to compare with', () => {
    expect([change(100, 62), change(0, 5), change(null, 1)]).toEqual([-38, undefined, undefined])
  })
})
