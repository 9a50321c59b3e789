/** The cases of peers that speak of a page, as the acceptance tests hold them. Nodes that lie on one another are laid apart. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Document, DrawnEdge, DrawnNode } from './documents.ts'

const FOLDER = fileURLToPath(new URL('../../../backend/tests/acceptance/cases/', import.meta.url))

interface Case {
  given: { mode: Document['mode'], graphData: { nodes: DrawnNode[], edges: DrawnEdge[] } }
  then: { check: string, is?: unknown, node_badges?: Record<string, string> }[]
}

export function readCase(name: string): Case {
  return JSON.parse(readFileSync(`${FOLDER}case-${name}.json`, 'utf8')) as Case
}

export function documentOf(name: string): Document {
  const { mode, graphData } = readCase(name).given
  const nodes = graphData.nodes.map((node, index): DrawnNode => ({
    ...node,
    position: { x: 280 * index, y: index % 2 === 0 ? 0 : 160 },
    data: node.data['model'] === 'fake' ? { ...node.data, model: 'scripted' } : node.data,
  }))
  return { name, mode, graphData: { nodes, edges: graphData.edges } }
}
