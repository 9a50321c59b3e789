/** Where a run stands that asks a person: the way so far, why it came to the question, and what was done last. Pure. */
import { readGraph } from '@/api/graph'
import type { Decision, NodeRecord, Pause, RunDetail, Visit } from '@/api/types'
import { route, type Route } from '@/runs/model/route'
import { glance, saidBy } from '@/runs/model/steps'
import type { Status } from '@/ui/status'

export interface Done { readonly key: string, readonly label: string, readonly iterSeq: number, readonly status: Status, readonly said: string, readonly failure?: string }
export interface Standing {
  /** Of an AGENTIC run, up to the visit that asks. */
  readonly route?: Route
  /** Visits of at most so many, or nodes that have ended of all. */
  readonly n: number
  readonly of: number
  /** Why the planner, or a person, sent the run to the node that asks. */
  readonly decision?: Decision
  /** What ended last, oldest first. */
  readonly before: readonly Done[]
}

const MOST = 4
const SIGNS = 240

export function standingOf(detail: RunDetail, pause: Pause): Standing {
  const graph = readGraph(detail.graphData)
  const done = (step: Visit | NodeRecord, key: string, iterSeq: number): Done => ({
    key, label: step.nodeLabel, iterSeq, status: step.status, ...(step.error ? { said: '', failure: step.error.message } : { said: glance(saidBy(step, graph), SIGNS) }),
  })
  if (detail.mode === 'DAG') {
    const ended = (detail.nodes ?? []).filter(node => node.finishedAt !== null && node.status !== 'SKIPPED')
    ended.sort((a, b) => (a.finishedAt ?? '').localeCompare(b.finishedAt ?? ''))
    return { n: ended.length, of: (detail.nodes ?? []).length, before: ended.slice(-MOST).map(node => done(node, node.nodeId, 1)) }
  }
  const visits = detail.visits ?? []
  const at = visits.findIndex(visit => visit.visitId === pause.visitId)
  const soFar = at < 0 ? visits : visits.slice(0, at + 1)
  const earlier = at < 0 ? visits : visits.slice(0, at)
  const decision = earlier.at(-1)?.decision
  return {
    route: route(soFar.map(({ fromVisitId, visitId, ...visit }) => ({ ...visit, key: visitId, ...(fromVisitId !== null && { fromVisitId }) })), graph.edges),
    n: soFar.length, of: detail.maxVisits,
    ...(decision?.reason && { decision }),
    before: earlier.slice(-MOST).map(visit => done(visit, visit.visitId, visit.iterSeq)),
  }
}
