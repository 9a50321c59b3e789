/** Two runs side by side: rows with their numbers, where they part, what each came to. Pure. */
import { writeJson } from '@/api/json'
import type { Comparison, NodeRecord, Visit } from '@/api/types'
import { route, type Route } from './route'

export interface ComparedCell { readonly n: number, readonly step: Visit | NodeRecord }
export interface ComparedRow { readonly relation: 'same' | 'differs' | 'only_a' | 'only_b', readonly a?: ComparedCell, readonly b?: ComparedCell }

export const isVisit = (step: Visit | NodeRecord): step is Visit => 'visitId' in step

export function comparedRows(comparison: Comparison): ComparedRow[] {
  let [a, b] = [0, 0]
  return comparison.steps.map((step): ComparedRow => {
    const left = step.a ? { n: (a += 1), step: step.a } : undefined
    const right = step.b ? { n: (b += 1), step: step.b } : undefined
    return { relation: step.relation, ...(left && { a: left }), ...(right && { b: right }) }
  })
}

export interface FirstDifference {
  /** Before this row. */
  readonly at: number
  /** The runs part by a decision after this visit, or the same node said something else. */
  readonly kind: 'start' | 'decision' | 'output'
  readonly after?: { readonly a: ComparedCell, readonly b: ComparedCell }
}

export function firstDifference(rows: readonly ComparedRow[]): FirstDifference | undefined {
  const at = rows.findIndex(row => row.relation !== 'same')
  if (at < 0) return undefined
  const before = rows[at - 1]
  const after = before?.a && before.b ? { a: before.a, b: before.b } : undefined
  return { at, kind: rows[at]?.relation === 'differs' ? 'output' : after ? 'decision' : 'start', ...(after && { after }) }
}

/** The route of one side. */
export function routeOfSide(rows: readonly ComparedRow[], side: 'a' | 'b'): Route {
  const visits = rows.flatMap(row => row[side]?.step ?? []).filter(isVisit)
  return route(visits.map(visit => ({
    key: visit.visitId, nodeId: visit.nodeId, nodeLabel: visit.nodeLabel, nodeType: visit.nodeType, iterSeq: visit.iterSeq, status: visit.status, onCanvas: visit.onCanvas, output: visit.output,
    ...(visit.fromVisitId && { fromVisitId: visit.fromVisitId }),
  })), [])
}

/** How much B differs from A: `−38 %`; undefined where A is nothing. */
export function change(a: number | null, b: number | null): number | undefined {
  if (a === null || b === null || a === 0) return undefined
  return Math.round((b - a) / a * 100)
}

export function outputText(run: Comparison['a']): string {
  return run.outputs.map(({ result }) => (typeof result === 'string' ? result : writeJson(result, 2))).join('\n\n')
}
