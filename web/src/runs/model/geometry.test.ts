import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { arcs } from './arcs'
import { jumps, type Box } from './geometry'
import { ribbon } from './ribbon'
import type { RouteLine, RouteStop } from './route'

const box = (x: number, y: number): Box => ({ x, y, width: 200, height: 80 })
const jump = (from: string, to: string, n = 5): RouteLine => ({ id: `${from}-${to}`, from, to, kind: 'jump', visits: [n] })
const ends = (d: string) => {
  const numbers = d.match(/-?\d+(\.\d+)?/g)?.map(Number) ?? []
  return { start: { x: numbers[0] ?? NaN, y: numbers[1] ?? NaN }, goal: { x: numbers[6] ?? NaN, y: numbers[7] ?? NaN }, lift: numbers[3] ?? NaN }
}

describe('jumps over the drawing', () => {
  it('leave and arrive at the middle thirds of a top or bottom', () => {
    const place = fc.record({ x: fc.integer({ min: -2000, max: 2000 }), y: fc.integer({ min: -2000, max: 2000 }) })
    fc.assert(fc.property(fc.array(place, { minLength: 2, maxLength: 8 }), fc.array(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 20 }), (places, pairs) => {
      const boxes = new Map(places.map(({ x, y }, index) => [String(index), box(x, y)]))
      const lines = [...new Map(pairs.map(([a, b], n) => [`${a % places.length}-${b % places.length}`, jump(String(a % places.length), String(b % places.length), n + 2)])).values()]
      const drawn = jumps(lines, boxes)
      expect(drawn).toHaveLength(lines.length)
      for (const { line, d, chip } of drawn) {
        expect(d).not.toMatch(/NaN|Infinity/)
        expect(Number.isFinite(chip.x + chip.y)).toBe(true)
        if (line.from === line.to) continue
        const { start, goal } = ends(d)
        for (const [point, own] of [[start, boxes.get(line.from)], [goal, boxes.get(line.to)]] as const) {
          if (!own) continue
          expect(Math.abs(point.x - own.x - own.width / 2)).toBeLessThanOrEqual(own.width / 6 + 0.11)
          expect([own.y - 2, own.y + own.height + 2].some(y => Math.abs(y - point.y) < 0.11)).toBe(true)
        }
      }
    }))
  })
  it('take the side that crosses fewer nodes', () => {
    const above = new Map([['A', box(0, 0)], ['C', box(600, 0)], ['B', box(300, -180)]])
    const below = new Map([['A', box(0, 0)], ['C', box(600, 0)], ['B', box(300, 180)]])
    expect(ends(jumps([jump('C', 'A')], above)[0]?.d ?? '').lift).toBeGreaterThan(80)
    expect(ends(jumps([jump('C', 'A')], below)[0]?.d ?? '').lift).toBeLessThan(0)
  })
  it('spread where several arrive at a side', () => {
    const boxes = new Map([['A', box(0, 0)], ['B', box(300, 0)], ['C', box(600, 0)]])
    const [b, c] = jumps([jump('B', 'A'), jump('C', 'A', 6)], boxes)
    expect(Math.abs(ends(b?.d ?? '').goal.x - ends(c?.d ?? '').goal.x)).toBe(24)
  })
  it('leave out what is not on the drawing', () => {
    expect(jumps([jump('A', 'gone')], new Map([['A', box(0, 0)]]))).toEqual([])
  })
})

const stops = (nodes: readonly string[]): RouteStop[] => {
  const last = new Map<string, number>()
  return nodes.map((nodeId, index) => {
    const before = last.get(nodeId)
    last.set(nodeId, index + 1)
    return { n: index + 1, key: String(index), nodeId, label: nodeId, iterSeq: 1, reached: 'drawn', status: 'SUCCESS', ...(before !== undefined && { backTo: before }) }
  })
}

describe('the ribbon', () => {
  it('stays within its width, stops in order, dots above thirty', () => {
    fc.assert(fc.property(fc.integer({ min: 120, max: 1600 }), fc.array(fc.constantFrom('A', 'B', 'C'), { minLength: 1, maxLength: 50 }), (width, nodes) => {
      const made = ribbon({ stops: stops(nodes), segments: [] }, { width })
      const xs = made.stops.map(stop => stop.x)
      expect([...xs].sort((a, b) => a - b)).toEqual(xs)
      expect(Math.max(...xs)).toBeLessThanOrEqual(width)
      expect(made.dots || nodes.length <= 30).toBe(true)
      expect(made.arcs).toHaveLength(made.stops.filter(({ stop }) => stop.backTo !== undefined).length)
      for (const arc of made.arcs) expect(arc.d).not.toMatch(/NaN/)
    }))
  })
})

describe('the arcs of the gutter', () => {
  it('lie in different lanes where they overlap, as long as there are lanes', () => {
    const made = arcs(stops(['A', 'B', 'C', 'A', 'B']))
    expect(made.map(arc => [arc.from, arc.to, arc.lane])).toEqual([[4, 1, 0], [5, 2, 1]])
    expect(arcs(stops(['A', 'A', 'A'])).map(arc => arc.lane)).toEqual([0, 0])
  })
})
