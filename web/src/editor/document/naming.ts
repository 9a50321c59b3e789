/** Names of new things: ids that clash with nothing, labels that are told apart. Pure but for chance. */
import type { GraphNode } from '@/api/types'
import { textOf } from './document'

const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'

/** A short random tail. `crypto.randomUUID` is not there on plain http. */
export function randomTail(length = 4): string {
  return [...crypto.getRandomValues(new Uint8Array(length))].map(byte => LETTERS[byte % LETTERS.length]).join('')
}

/** `llm-k3x9`: two tabs that add a node each never name them alike. */
export function newNodeId(type: string, taken: { has: (id: string) => boolean }): string {
  const stem = type.replace(/[^A-Za-z0-9-]+/g, '') || 'node'
  for (;;) {
    const id = `${stem}-${randomTail()}`
    if (!taken.has(id)) return id
  }
}

export function newEdgeId(taken: { has: (id: string) => boolean }): string {
  for (;;) {
    const id = `e-${randomTail(6)}`
    if (!taken.has(id)) return id
  }
}

/** The label itself, or with the next free number: `Draft`, `Draft 2`, `Draft 3`. */
export function uniqueLabel(wanted: string, nodes: Iterable<GraphNode>): string {
  const taken = new Set([...nodes].map(node => textOf(node.data['label']).trim()))
  const label = wanted.trim()
  if (label === '' || !taken.has(label)) return label
  const stem = label.replace(/ \d+$/, '')
  for (let n = 2; ; n += 1) if (!taken.has(`${stem} ${n}`)) return `${stem} ${n}`
}

export const STEP = 20

export function snapped(value: number): number {
  return Math.round(value / STEP) * STEP
}
