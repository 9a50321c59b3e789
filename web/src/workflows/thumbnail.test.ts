import { describe, expect, it } from 'vitest'
import type { GraphData } from '@/api/types'
import { scriptedJumps, thumbnail } from './thumbnail'

const graph: GraphData = {
  nodes: ['userInput', 'llm', 'output'].map((type, index) => ({ id: `n${index}`, type, position: { x: index * 260, y: 0 }, data: {} })),
  edges: [{ id: 'a', source: 'n0', target: 'n1' }, { id: 'b', source: 'n1', target: 'n2' }],
}
const script = [{ for: { node: 'n1' }, replies: [{ text: 'x' }] }, { for: { role: 'planner' }, replies: [{ next: 'n1' }, { next: 'n0' }, { next: 'n1' }, { next: 'n0' }, { next: 'n1' }, { next: 'n2' }] }]

describe('the picture of a sample', () => {
  it('shows each jump of its script once, and no drawn step', () => {
    expect(scriptedJumps(graph, script)).toEqual([['n1', 'n0']])
  })
  it('shows no jump where there is no script', () => {
    expect(scriptedJumps(graph, undefined)).toEqual([])
  })
  it('keeps every node inside and apart', () => {
    const drawn = thumbnail(graph, [['n1', 'n0']])
    expect(drawn.boxes.map(box => box.x)).toEqual([31, 134, 237])
    expect(drawn.edges).toHaveLength(2)
    expect(drawn.jumps).toHaveLength(1)
  })
  it('leaves out an edge whose end is not there', () => {
    expect(thumbnail({ nodes: [], edges: [{ id: 'a', source: 'x', target: 'y' }] }).edges).toEqual([])
  })
  it('can draw a graph without positions', () => {
    expect(thumbnail({ nodes: [{ id: 'a', type: 'llm', data: {} }], edges: [] }).boxes[0]?.x).toBeGreaterThan(0)
  })
})
