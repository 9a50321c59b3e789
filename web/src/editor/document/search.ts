/** Finding words in all texts of a drawing, and replacing them. Pure. */
import type { GraphNode } from '@/api/types'
import { deepFreeze, labelOf, type GraphDocument } from './document'

export interface Match {
  readonly nodeId: string
  readonly nodeLabel: string
  /** The first step of where it stands: `userPrompt`, `conditions`. */
  readonly field: string
  readonly path: readonly (string | number)[]
  readonly before: string
  readonly found: string
  readonly after: string
  readonly count: number
}

export interface Options { readonly matchCase?: boolean, readonly wholeWord?: boolean }

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

function pattern(text: string, { matchCase = false, wholeWord = false }: Options): RegExp | undefined {
  if (text === '') return undefined
  const body = wholeWord ? `(?<![\\p{L}\\p{N}_])${escaped(text)}(?![\\p{L}\\p{N}_])` : escaped(text)
  return new RegExp(body, matchCase ? 'gu' : 'giu')
}

function* textsIn(value: unknown, path: readonly (string | number)[]): Generator<{ path: readonly (string | number)[], text: string }> {
  if (typeof value === 'string') yield { path, text: value }
  else if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* textsIn(item, [...path, index])
  else if (typeof value === 'object' && value !== null) for (const [key, item] of Object.entries(value)) yield* textsIn(item, [...path, key])
}

const AROUND = 28

export function find(document: GraphDocument, text: string, options: Options = {}): Match[] {
  const wanted = pattern(text, options)
  if (!wanted) return []
  const matches: Match[] = []
  for (const node of document.nodes.values()) {
    for (const { path, text: whole } of textsIn(node.data, [])) {
      const all = [...whole.matchAll(wanted)]
      const first = all[0]
      if (!first) continue
      const [from, to] = [first.index, first.index + first[0].length]
      matches.push({
        nodeId: node.id, nodeLabel: labelOf(node), field: String(path[0] ?? ''), path, count: all.length, found: first[0],
        before: (from > AROUND ? '…' : '') + whole.slice(Math.max(0, from - AROUND), from).replace(/\s+/g, ' '),
        after: whole.slice(to, to + 2 * AROUND).replace(/\s+/g, ' ') + (whole.length > to + 2 * AROUND ? '…' : ''),
      })
    }
  }
  return matches
}

function replacedIn(value: unknown, wanted: RegExp, by: string): unknown {
  if (typeof value === 'string') return value.replace(wanted, () => by)
  if (Array.isArray(value)) return value.map(item => replacedIn(item, wanted, by))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replacedIn(item, wanted, by)]))
}

/** Replaces in every text, or in those of one match. */
export function replace(document: GraphDocument, text: string, by: string, options: Options = {}, only?: Match): GraphDocument {
  const wanted = pattern(text, options)
  if (!wanted) return document
  const nodes = new Map<string, GraphNode>()
  for (const [id, node] of document.nodes) {
    if (only && only.nodeId !== id) nodes.set(id, node)
    else if (!only) nodes.set(id, deepFreeze({ ...node, data: replacedIn(node.data, wanted, by) as Record<string, unknown> }))
    else nodes.set(id, deepFreeze({ ...node, data: replacedAt(node.data, only.path, value => replacedIn(value, wanted, by)) as Record<string, unknown> }))
  }
  return { ...document, nodes }
}

function replacedAt(value: unknown, path: readonly (string | number)[], change: (value: unknown) => unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return change(value)
  if (Array.isArray(value)) return value.map((item: unknown, index) => (index === step ? replacedAt(item, rest, change) : item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, key === step ? replacedAt(item, rest, change) : item]))
}
