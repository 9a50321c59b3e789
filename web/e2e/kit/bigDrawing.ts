/** A drawing of 500 nodes in a grid, with 737 edges. */
import type { DrawnEdge, DrawnNode } from './documents.ts'

const [COLUMNS, ROWS] = [25, 20]
const idAt = (column: number, row: number) => `n-${column}-${row}`

export function bigDrawing(): { nodes: DrawnNode[], edges: DrawnEdge[] } {
  const nodes: DrawnNode[] = []
  const edges: DrawnEdge[] = []
  const lead = (source: string, target: string) => { edges.push({ id: `${source}-${target}`, source, target, sourceHandle: 'output' }) }
  for (let column = 0; column < COLUMNS; column += 1) {
    for (let row = 0; row < ROWS; row += 1) {
      nodes.push({ id: idAt(column, row), type: 'template', position: { x: column * 260, y: row * 140 }, data: { label: `Step ${column}.${row}`, description: 'Puts two texts together', template: 'Step by step' } })
      if (column > 0) lead(idAt(column - 1, row), idAt(column, row))
      if (column > 0 && row > 0 && edges.length < 737) lead(idAt(column - 1, row - 1), idAt(column, row))
    }
  }
  return { nodes, edges: edges.slice(0, 737) }
}
