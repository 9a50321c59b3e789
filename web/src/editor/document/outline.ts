/** The drawing as a nested list: each node below the one it was first reached from. Pure. */
import { sourceHandleOf } from '@/canvas/handles'
import type { GraphEdge, GraphNode } from '@/api/types'
import type { GraphDocument } from './document'

export interface OutlineRow {
  readonly node: GraphNode
  readonly depth: number
  readonly leaving: readonly GraphEdge[]
}

/** In canvas order: what nothing leads to begins, and what is on circles alone begins where it comes first. */
export function outlineOf(document: GraphDocument): OutlineRow[] {
  const order = new Map([...document.nodes.keys()].map((id, index) => [id, index]))
  const leaving = new Map<string, GraphEdge[]>()
  const entered = new Set<string>()
  for (const edge of document.edges.values()) {
    if (!document.nodes.has(edge.source) || !document.nodes.has(edge.target)) continue
    leaving.set(edge.source, [...leaving.get(edge.source) ?? [], edge])
    if (edge.source !== edge.target) entered.add(edge.target)
  }
  for (const edges of leaving.values()) edges.sort((a, b) => sourceHandleOf(a).localeCompare(sourceHandleOf(b), undefined, { numeric: true }) || (order.get(a.target) ?? 0) - (order.get(b.target) ?? 0))

  const rows: OutlineRow[] = []
  const seen = new Set<string>()
  const visit = (first: GraphNode) => {
    const stack = [{ node: first, depth: 0 }]
    for (let next = stack.pop(); next; next = stack.pop()) {
      if (seen.has(next.node.id)) continue
      seen.add(next.node.id)
      const edges = leaving.get(next.node.id) ?? []
      rows.push({ ...next, leaving: edges })
      for (const edge of [...edges].reverse()) {
        const target = document.nodes.get(edge.target)
        if (target && !seen.has(target.id)) stack.push({ node: target, depth: next.depth + 1 })
      }
    }
  }
  const nodes = [...document.nodes.values()]
  nodes.filter(node => !entered.has(node.id)).forEach(visit)
  nodes.forEach((node) => { if (!seen.has(node.id)) visit(node) })
  return rows
}
