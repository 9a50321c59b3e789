/** What a run says of each node of its graph: status, last value, error, stops. Pure. */
import type { GraphData } from '@/api/types'
import type { Status } from '@/ui/status'
import { lookOf, type Route, type StopLook } from './route'
import { formingKey, type RunView, type Step } from './runView'
import { estimatedTokens, glance, saidBy } from './steps'

export interface NodeState {
  readonly status: Status
  readonly text?: string
  readonly error?: string
  readonly iter?: number
  readonly stops: readonly { readonly n: number, readonly kind: StopLook }[]
  /** Of a text that is forming: its tokens so far, and how many a second. */
  readonly forming?: { readonly tokens: number, readonly perSecond?: number }
  readonly elapsedMs?: number
}

/** How much of a forming text a node shows, newest kept. */
const TAIL = 160

interface Shown { view: RunView, graph: GraphData, steps: readonly Step[], route: Route, selected?: number, playhead?: number }

export function nodeStates({ view, graph, steps, route, selected, playhead }: Shown): Map<string, NodeState> {
  const made = playhead === undefined ? steps : steps.slice(0, playhead)
  const last = new Map<string, Step>()
  for (const step of playhead === undefined && view.mode === 'DAG' ? view.steps : made) last.set(step.nodeId, step)
  const stops = new Map<string, { n: number, kind: StopLook }[]>()
  for (const stop of route.stops) stops.set(stop.nodeId, [...stops.get(stop.nodeId) ?? [], { n: stop.n, kind: lookOf(stop, { ...(selected !== undefined && { selected }), ...(playhead !== undefined && { playhead }) }) }])
  return new Map(graph.nodes.filter(node => node.type !== 'note').map((node) => {
    const step = last.get(node.id)
    return [node.id, { status: step?.status ?? 'PENDING', stops: stops.get(node.id) ?? [], ...(step && stateOf(step, view, graph)) }]
  }))
}

function stateOf(step: Step, view: RunView, graph: GraphData): Partial<NodeState> {
  const iter = step.iterSeq > 1 ? { iter: step.iterSeq } : {}
  const forming = view.forming.get(formingKey('node', step.key))
  const tool = step.status === 'RUNNING' ? step.tools.find(one => one.durationMs === undefined) : undefined
  if (tool) return { ...iter, text: `${tool.name} …` }
  if (step.status === 'RUNNING' && forming) return { ...iter, ...formingOf(forming) }
  if (step.status === 'PAUSED') return { ...iter, text: glance(step.asked.findLast(asked => asked.endedAt === undefined)?.questions[0]?.text) }
  if (step.error) return { ...iter, error: step.error.message }
  return { ...iter, text: glance(saidBy(step, graph)) }
}

function formingOf({ text, since, at }: { text: string, since: string, at: string }): Partial<NodeState> {
  const tokens = estimatedTokens(text)
  const ms = new Date(at).getTime() - new Date(since).getTime()
  return {
    text: text.length > TAIL ? `…${text.slice(-TAIL)}` : text, elapsedMs: Math.max(0, ms),
    forming: { tokens, ...(ms > 500 && { perSecond: Math.round(tokens / (ms / 1000)) }) },
  }
}
