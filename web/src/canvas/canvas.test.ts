import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GraphNode, NodeType } from '@/api/types'
import { cutLine, newestOf } from './cut'
import { around, byDistance, snap, viewOf } from './geometry'
import { handlesOf } from './handles'
import { branchText, typeLine } from './nodeText'
import { shownStops } from './stops'
import { neighbour } from './walk'

const type = (category: string, properties: Record<string, unknown> = {}, runs = true) => ({ type: 't', category, runs, title: { 'en': 'Model', 'zh-CN': '模型' }, summary: {}, icon: '', handles: [], writes: [], configSchema: { properties } }) as unknown as NodeType
const node = (data: Record<string, unknown>): GraphNode => ({ id: 'n', type: 't', data })
const stops = (count: number) => Array.from({ length: count }, (_, index) => ({ n: index + 1, kind: 'drawn' as const }))

describe('a view', () => {
  it('shows a box whole and in the middle, never larger than life', () => {
    const insets = { top: 10, right: 20, bottom: 30, left: 40 }
    fc.assert(fc.property(fc.record({ x: fc.integer({ min: -9e3, max: 9e3 }), y: fc.integer({ min: -9e3, max: 9e3 }), width: fc.integer({ min: 1, max: 5e3 }), height: fc.integer({ min: 1, max: 4e3 }) }), (box) => {
      const { x, y, zoom } = viewOf(box, 1200, 800, insets)
      expect(zoom).toBeLessThanOrEqual(1)
      expect(box.x * zoom + x).toBeGreaterThanOrEqual(39.9)
      expect((box.x + box.width) * zoom + x).toBeLessThanOrEqual(1180.1)
      expect((box.y + box.height) * zoom + y).toBeLessThanOrEqual(770.1)
    }))
  })
  it('goes around all boxes', () => {
    expect(around([{ x: 0, y: 10, width: 10, height: 10 }, { x: -5, y: 0, width: 1, height: 5 }])).toEqual({ x: -5, y: 0, width: 15, height: 20 })
    expect(around([])).toBeUndefined()
  })
  it('opens what is near first', () => {
    expect(byDistance([{ x: 9, y: 0 }, { x: 1, y: 1 }], { x: 0, y: 0 })[0]).toEqual({ x: 1, y: 1 })
  })
})

describe('a dragged node', () => {
  const other = { x: 200, y: 100, width: 100, height: 50 }
  it('snaps to a neighbour and says to which line', () => {
    expect(snap({ x: 203, y: 300, width: 100, height: 50 }, [other], 6)).toEqual({ dx: -3, dy: 0, guides: [{ axis: 'x', at: 200 }] })
  })
  it('snaps to the grid where no neighbour is near', () => {
    const { dx, dy, guides } = snap({ x: 507, y: 311, width: 90, height: 44 }, [other], 6)
    expect([507 + dx, 311 + dy, guides]).toEqual([500, 320, []])
  })
})

describe('handles', () => {
  const condition = type('logic', { conditions: { 'x-editor': 'conditions' } })
  const ids = (one: GraphNode, of: NodeType | undefined, used: string[] = []) => handlesOf(one, of, used).map(handle => handle.id)
  it('are one for each branch and one for ELSE', () => {
    expect(ids(node({ conditions: [{}, {}] }), condition)).toEqual(['branch-0', 'branch-1', 'branch-2'])
    expect(handlesOf(node({}), condition).map(handle => handle.name.kind)).toEqual(['if', 'else'])
  })
  it('are one for each action, and one for the time that runs out', () => {
    const human = type('input', { actions: { 'x-editor': 'actions' } })
    expect(ids(node({ actions: [{ id: 'yes' }, { id: 'no' }], timeout: 60 }), human)).toEqual(['action-yes', 'action-no', 'timeout'])
    expect(ids(node({}), human)).toEqual(['output'])
  })
  it('are none of an end or a note, one more of what goes on when it fails', () => {
    expect(ids(node({}), type('output'))).toEqual([])
    expect(ids(node({}), type('drawing', {}, false))).toEqual([])
    expect(ids(node({ failStrategy: 'branch' }), type('model'))).toEqual(['output', 'error'])
  })
  it('stay while an edge leaves by them, also of a type that is not known', () => {
    expect(handlesOf(node({}), type('model'), ['old', 'output']).map(handle => [handle.id, handle.lost])).toEqual([['output', undefined], ['old', true]])
    expect(ids(node({}), undefined, ['out1'])).toEqual(['output', 'out1'])
  })
})

describe('texts on a node', () => {
  it('are cut in the data, wide signs counted as wide', () => {
    expect(cutLine('short', 22)).toBe('short')
    expect(cutLine('a longer label than fits', 8)).toBe('a longer…')
    expect(cutLine('一二三四五六七八', 7)).toBe('一二三四…')
    expect(cutLine('one\ntwo', 20)).toBe('one')
  })
  it('keep the newest of a stream', () => {
    expect(newestOf('abcdef', 3)).toBe('…def')
    expect(newestOf('ab', 3)).toBe('ab')
  })
  it('name the model beside the type', () => {
    expect(typeLine(node({ model: 'glm' }), type('model', { model: { 'x-editor': 'model' } }), 'zh-CN')).toBe('模型 · glm')
    expect(typeLine(node({}), type('model'), 'fr')).toBe('Model')
  })
  it('tell a branch by its rules or its words', () => {
    expect(branchText({ rules: { match: 'any', items: [{ variable: 'a.n', operator: 'ge', value: 3 }, { variable: 'b', operator: 'empty' }] } })).toBe('a.n ≥ 3 ∨ b = ∅')
    expect(branchText({ expression: ' the mood is bad ' })).toBe('the mood is bad')
    expect(branchText(7)).toBe('')
  })
})

describe('stops on a node', () => {
  it('are all shown up to five, then the first, how many more, and the last two', () => {
    expect(shownStops(stops(5))).toHaveLength(5)
    expect(shownStops(stops(9))).toEqual([{ n: 1, kind: 'drawn' }, { more: 6 }, { n: 8, kind: 'drawn' }, { n: 9, kind: 'drawn' }])
  })
})

describe('arrows', () => {
  const box = (id: string, x: number, y: number) => ({ id, x, y, width: 100, height: 50 })
  const boxes = [box('a', 0, 0), box('b', 200, -80), box('c', 200, 80), box('far', 900, 0)]
  it('lead along the edges, else to the nearest in that direction', () => {
    expect(neighbour(boxes, [{ source: 'a', target: 'far' }], 'a', 'ArrowRight')).toBe('far')
    expect(neighbour(boxes, [], 'b', 'ArrowDown')).toBe('c')
    expect(neighbour(boxes, [], 'a', 'ArrowLeft')).toBeUndefined()
    expect(neighbour(boxes, [{ source: 'a', target: 'far' }], 'far', 'ArrowLeft')).toBe('a')
  })
})
