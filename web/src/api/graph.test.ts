import { describe, expect, it } from 'vitest'
import { readGraph } from './graph'

describe('a graph file', () => {
  it('keeps keys that the page does not know', () => {
    const graph = readGraph({ viewport: { zoom: 2 }, nodes: [{ id: 'a', type: 'llm', position: { x: 1, y: 2 }, data: { mine: true }, z: 3 }], edges: [{ id: 'e', source: 'a', target: 'a', animated: true }] })
    expect(graph).toEqual({ viewport: { zoom: 2 }, nodes: [{ id: 'a', type: 'llm', position: { x: 1, y: 2 }, data: { mine: true }, z: 3 }], edges: [{ id: 'e', source: 'a', target: 'a', animated: true }] })
  })
  it('gets positions, data and edge ids where they are missing', () => {
    expect(readGraph({ nodes: [{ id: 'a', type: 'llm' }], edges: [{ source: 'a', target: 'a' }] })).toEqual({
      nodes: [{ id: 'a', type: 'llm', position: { x: 0, y: 0 }, data: {} }], edges: [{ id: 'edge-0', source: 'a', target: 'a' }],
    })
  })
  it.each([[null], ['x'], [{}], [{ nodes: [1, { id: 'a' }], edges: 'no' }]])('that is none (%j) has no nodes', (value) => {
    expect(readGraph(value)).toMatchObject({ nodes: [], edges: [] })
  })
})
