import { describe, expect, it } from 'vitest'
import { aligned, distributed } from './arrange'
import { connect, moveNodes, remove, setData, setHead } from './commands'
import { compareDrawings } from './compare'
import { openDocument, workflowOf } from './document'
import { differences, differingFields, keyOf, merged } from './merge'
import { outlineOf } from './outline'

const node = (id: string, data: Record<string, unknown> = {}) => ({ id, type: 'llm', position: { x: 0, y: 0 }, data })
const base = openDocument({ name: 'N', mode: 'DAG', graphData: { nodes: [node('a', { userPrompt: '1' }), node('b', { userPrompt: '2' }), node('c')], edges: [{ id: 'ab', source: 'a', target: 'b' }, { id: 'bc', source: 'b', target: 'c' }] } })
const mine = setData(setHead(base, { name: 'Mine' }), 'b', { userPrompt: 'two' })
const saved = moveNodes(setData(base, 'a', { userPrompt: 'one' }), new Map([['c', { x: 40, y: 0 }]]))

describe('two documents made from one', () => {
  it('merge by themselves where no thing was changed on both sides', () => {
    expect(differences(base, mine, saved).map(difference => [keyOf(difference), difference.changedBy])).toEqual([['head name', 'mine'], ['node a', 'saved'], ['node b', 'mine'], ['node c', 'saved']])
    const result = merged(base, mine, saved)
    expect(result.head['name']).toBe('Mine')
    expect([...result.nodes.values()].map(one => one.data['userPrompt'])).toEqual(['one', 'two', undefined])
    expect(result.nodes.get('c')?.position).toEqual({ x: 40, y: 0 })
  })
  it('keep one\'s own in a clash, unless the saved one is chosen', () => {
    const theirs = setData(base, 'b', { userPrompt: 'zwei' })
    const [clash] = differences(base, mine, theirs).filter(difference => difference.kind === 'node')
    expect(clash).toMatchObject({ id: 'b', changedBy: 'both' })
    expect(merged(base, mine, theirs).nodes.get('b')?.data['userPrompt']).toBe('two')
    expect(merged(base, mine, theirs, new Map([['node b', 'saved']])).nodes.get('b')?.data['userPrompt']).toBe('zwei')
  })
  it('leave no edge without its nodes', () => {
    const added = connect(base, { source: 'c', target: 'a' })
    const result = merged(base, added, remove(base, new Set(['c'])))
    expect([...result.edges.keys()]).toEqual(['ab'])
    expect(differences(base, base, base)).toEqual([])
    expect(workflowOf(merged(base, base, saved))).toEqual(workflowOf(saved))
  })
  it('name the fields that differ', () => {
    expect(differingFields(base.nodes.get('c'), saved.nodes.get('c'))).toEqual(['position'])
    expect(differingFields(base.nodes.get('b'), mine.nodes.get('b'))).toEqual(['userPrompt'])
  })
})

describe('two versions in one drawing', () => {
  it('mark what was added, removed, changed and moved', () => {
    const after = connect(moveNodes(setData(remove(base, new Set(['b'])), 'a', { userPrompt: 'one' }), new Map([['c', { x: 9, y: 9 }]])), { source: 'a', target: 'c' })
    const compared = compareDrawings(base, after)
    expect(Object.fromEntries(compared.marks)).toEqual({ a: 'changed', b: 'removed', c: 'moved' })
    expect([...compared.edgeMarks.values()].sort()).toEqual(['added', 'removed', 'removed'])
    expect(compared.nodes).toHaveLength(3)
    expect(compared.changes[0]?.fields).toEqual([{ name: 'userPrompt', before: '1', after: 'one' }])
  })
  it('are the same when only ids of edges differ', () => {
    const renamed = openDocument({ name: 'N', mode: 'DAG', graphData: { nodes: [...base.nodes.values()], edges: [{ id: 'x', source: 'a', target: 'b', sourceHandle: 'output' }, { id: 'y', source: 'b', target: 'c' }] } })
    expect(compareDrawings(base, renamed)).toMatchObject({ changes: [], head: [] })
    expect(compareDrawings(base, renamed).edgeMarks.size).toBe(0)
  })
})

describe('the outline', () => {
  it('names every node once, below the one it is first reached from, circles too', () => {
    const circle = connect(connect(base, { source: 'c', target: 'a' }), { source: 'c', target: 'b' })
    expect(outlineOf(base).map(row => [row.node.id, row.depth])).toEqual([['a', 0], ['b', 1], ['c', 2]])
    expect(outlineOf(circle).map(row => row.node.id)).toEqual(['a', 'b', 'c'])
    expect(outlineOf(circle)[2]?.leaving).toHaveLength(2)
  })
})

describe('several nodes', () => {
  const boxes = [{ id: 'a', x: 0, y: 0, width: 100, height: 40 }, { id: 'b', x: 150, y: 10, width: 60, height: 40 }, { id: 'c', x: 400, y: 90, width: 100, height: 60 }]
  it('are aligned', () => {
    expect([...aligned(boxes, 'right').values()].map(place => place.x)).toEqual([400, 440, 400])
    expect([...aligned(boxes, 'middle').values()].map(place => place.y)).toEqual([55, 55, 45])
  })
  it('are given equal gaps, the outermost in place', () => {
    expect([...distributed(boxes, 'horizontal').entries()].map(([id, place]) => [id, place.x])).toEqual([['a', 0], ['b', 220], ['c', 400]])
    expect(distributed(boxes.slice(0, 2), 'vertical').size).toBe(0)
  })
})
