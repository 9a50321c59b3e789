/**
 * A run's route: numbered stops, and between them drawn steps and jumps. The one source of the route over the
 * canvas, the ribbon, the gutter of the chain and the sparkline of a list. Pure.
 */
import { writeJson } from '@/api/json'
import type { GraphEdge } from '@/api/types'
import type { Status } from '@/ui/status'
import type { Step } from './runView'
import { activeHandles } from './steps'

export interface RouteStop {
  /** From 1, as people count. */
  readonly n: number
  readonly key: string
  readonly nodeId: string
  readonly label: string
  readonly iterSeq: number
  readonly reached: 'start' | 'drawn' | 'jump'
  readonly status: Status
  /** A revisit's arc goes back to this stop, the node's visit before. */
  readonly backTo?: number
}

/** The step from stop `n - 1` to stop `n`. */
export interface RouteSegment {
  readonly n: number
  readonly from: string
  readonly to: string
  readonly kind: 'drawn' | 'jump'
  /** The edge that a drawn step lies on. */
  readonly edgeId?: string
}

export interface Route { readonly stops: readonly RouteStop[], readonly segments: readonly RouteSegment[] }

type RouteStep = Pick<Step, 'key' | 'nodeId' | 'nodeLabel' | 'nodeType' | 'iterSeq' | 'status' | 'onCanvas' | 'fromVisitId' | 'output'>
type RouteEdge = Pick<GraphEdge, 'id' | 'source' | 'target' | 'sourceHandle'>

export function route(visits: readonly RouteStep[], edges: readonly RouteEdge[]): Route {
  const last = new Map<string, number>()
  const stops: RouteStop[] = []
  const segments: RouteSegment[] = []
  for (const [index, visit] of visits.entries()) {
    const n = index + 1
    const reached = visit.fromVisitId === undefined ? 'start' : visit.onCanvas ? 'drawn' : 'jump'
    const before = last.get(visit.nodeId)
    stops.push({ n, key: visit.key, nodeId: visit.nodeId, label: visit.nodeLabel, iterSeq: visit.iterSeq, reached, status: visit.status, ...(before !== undefined && { backTo: before }) })
    last.set(visit.nodeId, n)
    const from = visits[index - 1]
    if (from && reached !== 'start') segments.push(segment(n, from, visit, edges))
  }
  return { stops, segments }
}

function segment(n: number, from: RouteStep, to: RouteStep, edges: readonly RouteEdge[]): RouteSegment {
  const step = { n, from: from.nodeId, to: to.nodeId }
  if (!to.onCanvas) return { ...step, kind: 'jump' }
  const drawn = edges.filter(edge => edge.source === from.nodeId && edge.target === to.nodeId)
  const handles = activeHandles(from)
  const edge = drawn.find(one => handles.includes(one.sourceHandle ?? 'output')) ?? drawn[0]
  return { ...step, kind: 'drawn', ...(edge && { edgeId: edge.id }) }
}

export type StopLook = 'drawn' | 'jump' | 'failed' | 'now' | 'waits' | 'selected' | 'later'

/** How a stop looks. What happens now wins over what is chosen, and both over how it was reached. */
export function lookOf(stop: RouteStop, { selected, playhead }: { selected?: number, playhead?: number } = {}): StopLook {
  if (playhead !== undefined && stop.n > playhead) return 'later'
  if (stop.n === selected) return 'selected'
  if (stop.status === 'RUNNING') return 'now'
  if (stop.status === 'PAUSED') return 'waits'
  if (stop.status === 'FAILED') return 'failed'
  return stop.reached === 'jump' ? 'jump' : 'drawn'
}

/** Steps between the same two nodes, of the same kind (and on the same edge), are one line. */
export interface RouteLine {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly kind: 'drawn' | 'jump'
  readonly edgeId?: string
  /** The stops that were reached along it, in order. */
  readonly visits: readonly number[]
}

export function lines(segments: readonly RouteSegment[]): RouteLine[] {
  const found = new Map<string, RouteLine>()
  for (const { n, ...line } of segments) {
    const id = writeJson([line.from, line.to, line.kind, line.edgeId])
    found.set(id, { id, ...line, visits: [...found.get(id)?.visits ?? [], n] })
  }
  return [...found.values()]
}

/** `5`, `4 · 6`, `3 · 7 · 9`; from four on `3 · 7 · … · 21`, with the count beside it. */
export function chipText(visits: readonly number[]): { text: string, count?: string } {
  if (visits.length < 4) return { text: visits.join(' · ') }
  return { text: `${visits[0]} · ${visits[1]} · … · ${visits.at(-1)}`, count: `×${visits.length}` }
}

/** The edges that a DAG run went along: their handle was activated, and what they lead to began. */
export function walkedEdges(steps: readonly RouteStep[], edges: readonly RouteEdge[]): ReadonlySet<string> {
  const byNode = new Map(steps.map(step => [step.nodeId, step]))
  const began = (nodeId: string) => !['PENDING', 'SKIPPED', undefined].includes(byNode.get(nodeId)?.status)
  const went = edges.filter((edge) => {
    const source = byNode.get(edge.source)
    return source !== undefined && activeHandles(source).includes(edge.sourceHandle ?? 'output') && began(edge.target)
  })
  return new Set(went.map(edge => edge.id))
}
