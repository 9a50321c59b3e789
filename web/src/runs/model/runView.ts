/**
 * What the page shows of a run: its events, folded.
 *
 * A live run and one from the history go through the same reducer, so the two cannot differ. A view is a value;
 * a step that did not change keeps its identity, so that only cards of steps that did are drawn anew. Events at
 * or below the last number are dropped, live text (which has no number) is kept under `forming` until its step ends.
 */
import type { Decision, Envelope, Failure, GraphData, RunEvent, RunUsage, Usage } from '@/api/types'
import type { Status } from '@/ui/status'

export type RunStatus = Exclude<Status, 'SKIPPED'>
export type Mode = 'DAG' | 'AGENTIC'

/** A failed attempt within a step: the next one began after `waitMs`. */
export interface Retry { readonly attempt: number, readonly error: Failure, readonly waitMs: number }
export interface ToolUse { readonly callId: string, readonly name: string, readonly at: string, readonly arguments: unknown, /** A process died while it was being made: it may have been made twice. */ readonly recovered?: boolean, readonly result?: unknown, readonly error?: Failure | null, readonly durationMs?: number }
/** A run that the step started: of an iteration one for each item. */
export interface SubRun { readonly runId: string, readonly index: number, readonly count: number, readonly status: RunStatus }
export interface Question { readonly id: string, readonly text: string, readonly choices?: readonly string[] | null }
export interface Asked {
  readonly pauseId: string
  readonly kind: 'question' | 'approval' | 'form'
  readonly prompt: string
  readonly questions: readonly Question[]
  readonly actions: readonly { readonly id: string, readonly label: string }[]
  readonly at: string
  readonly expiresAt?: string | null
  readonly answers?: unknown
  /** The action that was taken. */
  readonly action?: string
  readonly by?: string
  readonly endedAt?: string
  /** It ended without an answer: the time was up, or the step ended for another reason. */
  readonly unanswered?: 'expired' | 'cancelled'
}

/** A visit of an AGENTIC run, or a node of a DAG run. */
export interface Step {
  /** The visit's id; in a DAG run the node's. */
  readonly key: string
  readonly visitId?: string
  readonly nodeId: string
  readonly nodeType: string
  readonly nodeLabel: string
  readonly status: Status
  readonly iterSeq: number
  readonly sortOrder: number
  readonly fromVisitId?: string
  readonly isFlyBack: boolean
  readonly onCanvas: boolean
  readonly attempts: number
  readonly recovered: boolean
  readonly output: Envelope | null
  /** The whole size in bytes of an output that is shown cut. */
  readonly outputSize?: number
  readonly error: Failure | null
  readonly usage?: Usage
  readonly startedAt?: string
  readonly finishedAt?: string
  readonly changed?: { readonly added: readonly string[], readonly overwritten: readonly string[] }
  readonly decision?: Decision
  readonly retries: readonly Retry[]
  readonly tools: readonly ToolUse[]
  readonly asked: readonly Asked[]
  readonly subRuns: readonly SubRun[]
  /** Of a fork: the visit is the other run's and was not executed again. */
  readonly shared: boolean
  /** Of a fork: what a person wrote over the workspace after this visit. */
  readonly edited: readonly string[]
}

/** Text that is forming: a node's output, or the planner's reason. */
export interface Forming { readonly text: string, readonly since: string, readonly at: string }

export interface RunFailure { readonly code: string, readonly message: string, readonly nodeId?: string, readonly fix?: string, readonly path: readonly string[] }
export interface Output { readonly nodeId: string, readonly result: unknown, readonly unresolved?: readonly string[] | null }

export interface RunView {
  readonly mode: Mode
  readonly status: RunStatus
  readonly steps: readonly Step[]
  readonly forming: ReadonlyMap<string, Forming>
  readonly inputs: Readonly<Record<string, unknown>>
  readonly outputs: readonly Output[]
  /** Some of them are too large for an event: whole they are in the run itself. */
  readonly outputsCut?: boolean
  readonly partial?: unknown
  readonly failure?: RunFailure
  readonly cancelledBy?: string
  readonly usage?: RunUsage
  readonly startedAt?: string
  readonly finishedAt?: string
  readonly lastSeq: number
}

interface Draft extends Omit<RunView, 'steps' | 'forming'> {
  steps: Step[]
  forming: Map<string, Forming>
  places: Map<string, number>
}

const EMPTY = { retries: [], tools: [], asked: [], subRuns: [], output: null, error: null, attempts: 0, recovered: false, shared: false, edited: [] } as const

/** A run before its first event. A DAG run shows every node (but notes) from the start, in canvas order. */
export function begin(mode: Mode, graph: GraphData): RunView {
  const nodes = mode === 'AGENTIC' ? [] : graph.nodes.filter(node => node.type !== 'note')
  return {
    mode, status: 'PENDING', forming: new Map(), inputs: {}, outputs: [], lastSeq: 0,
    steps: nodes.map((node, index) => ({
      ...EMPTY, key: node.id, nodeId: node.id, nodeType: node.type, nodeLabel: labelOf(graph, node.id), status: 'PENDING', iterSeq: 1, sortOrder: index, isFlyBack: false, onCanvas: true,
    })),
  }
}

export function labelOf(graph: GraphData, nodeId: string): string {
  const label = graph.nodes.find(node => node.id === nodeId)?.data['label']
  return typeof label === 'string' && label.trim() !== '' ? label : nodeId
}

export function isTerminal(event: { type: string }): boolean {
  return event.type === 'workflow_complete' || event.type === 'workflow_error' || event.type === 'run_cancelled'
}

/** The key of a text that is forming. */
export function formingKey(source: 'node' | 'planner', stepKey: string): string {
  return `${source}:${stepKey}`
}

/** Folds events into a view. The graph gives the names of nodes that events do not carry. */
export function fold(view: RunView, events: readonly RunEvent[], graph: GraphData): RunView {
  const draft: Draft = { ...view, steps: [...view.steps], forming: new Map(view.forming), places: new Map(view.steps.map((step, index) => [step.key, index])) }
  for (const event of events) {
    if ('seq' in event) {
      if (event.seq <= draft.lastSeq) continue
      Object.assign(draft, { lastSeq: event.seq })
    }
    Object.assign(draft, apply(draft, event, graph))
  }
  const { places, ...next } = draft
  return places.size === view.steps.length && events.length === 0 ? view : next
}

type Change = Partial<Omit<RunView, 'steps' | 'forming'>>

function apply(draft: Draft, event: RunEvent, graph: GraphData): Change {
  switch (event.type) {
    case 'run_started': return { inputs: event.data.inputs, startedAt: event.timestamp }
    case 'node_status': return onStatus(draft, event, graph)
    case 'visit_recorded': return onRecorded(draft, event)
    case 'planner_decision': return onDecision(draft, event)
    case 'node_retry': return onStep(draft, event.data, step => ({ retries: [...step.retries, { attempt: event.data.attempt, error: event.data.error, waitMs: event.data.waitMs }] }))
    case 'tool_call': return onStep(draft, event.data, step => ({ tools: [...step.tools.filter(tool => tool.callId !== event.data.callId), { callId: event.data.callId, name: event.data.name, at: event.timestamp, arguments: event.data.arguments, ...(event.data.recovered && { recovered: true }) }] }))
    case 'tool_result': return onStep(draft, event.data, step => ({ tools: step.tools.map(tool => (tool.callId === event.data.callId ? { ...tool, result: event.data.result, error: event.data.error, durationMs: event.data.durationMs } : tool)) }))
    case 'clarify_request': return onStep(draft, event.data, step => ({ asked: [...step.asked, { pauseId: event.data.pauseId, kind: event.data.kind, prompt: event.data.prompt, questions: event.data.questions, actions: event.data.actions, expiresAt: event.data.expiresAt, at: event.timestamp }] }))
    case 'clarify_answered': return onStep(draft, event.data, step => ({ asked: asked(step, event.data.pauseId, { answers: event.data.answers, ...(event.data.action && { action: event.data.action }), by: event.data.by, endedAt: event.timestamp }) }))
    case 'pause_expired': return onStep(draft, event.data, step => ({ asked: asked(step, event.data.pauseId, { unanswered: 'expired', endedAt: event.timestamp }) }))
    case 'run_paused': return { status: 'PAUSED' }
    case 'run_resumed': return { status: 'RUNNING' }
    case 'sub_run': return onStep(draft, event.data, step => ({ subRuns: withSubRun(step.subRuns, event.data) }))
    case 'text_delta': case 'text_snapshot': return onText(draft, event)
    case 'workflow_complete': return end(draft, event.timestamp, { status: 'SUCCESS', outputs: event.data.outputs, usage: event.data.usage, ...(event.data.outputsTruncated && { outputsCut: true }) })
    case 'workflow_error': {
      const { code, message, nodeId, path, partial, fix } = event.data as typeof event.data & { fix?: string }
      return end(draft, event.timestamp, { status: 'FAILED', failure: { code, message, path, ...(nodeId && { nodeId }), ...(fix && { fix }) }, ...(partial !== undefined && partial !== null && { partial }) })
    }
    case 'run_cancelled': return end(draft, event.timestamp, { status: 'CANCELLED', cancelledBy: event.data.by })
  }
}

function end(draft: Draft, at: string, change: Change): Change {
  draft.forming.clear()
  return { ...change, finishedAt: at }
}

type Of<T extends RunEvent['type']> = Extract<RunEvent, { type: T }>

function onStatus(draft: Draft, event: Of<'node_status'>, graph: GraphData): Change {
  const { data } = event
  const key = data.visitId ?? data.nodeId
  if (!draft.places.has(key)) {
    draft.places.set(key, draft.steps.length)
    draft.steps.push(opened(event, key, graph))
  } else {
    replace(draft, key, step => ({
      status: data.status, attempts: Math.max(step.attempts, data.attempt ?? 0), error: data.error ?? null,
      recovered: step.recovered || data.recovered === true,
      ...(data.status === 'RUNNING' && step.startedAt === undefined && { startedAt: event.timestamp }),
      ...(data.output && { output: data.output }), ...(data.outputSize && { outputSize: data.outputSize }), ...(data.usage && { usage: data.usage }),
      ...(data.startedAt && { startedAt: data.startedAt }), ...(isEnd(data.status) && { finishedAt: data.finishedAt ?? event.timestamp }),
    }))
  }
  if (isEnd(data.status)) onStepEnd(draft, key, event.timestamp)
  return data.status === 'RUNNING' && draft.status === 'PENDING' ? { status: 'RUNNING' } : {}
}

/** Nothing forms any more, and nobody waits for an answer. */
function onStepEnd(draft: Draft, key: string, at: string) {
  draft.forming.delete(formingKey('node', key))
  replace(draft, key, step => (step.asked.every(one => one.endedAt !== undefined) ? {} : {
    asked: step.asked.map(one => (one.endedAt === undefined ? { ...one, unanswered: 'cancelled' as const, endedAt: at } : one)),
  }))
}

const isEnd = (status: Status) => status !== 'RUNNING' && status !== 'PAUSED' && status !== 'PENDING'

function opened(event: Of<'node_status'>, key: string, graph: GraphData): Step {
  const { data } = event
  return {
    ...EMPTY, key, ...(data.visitId && { visitId: data.visitId }), nodeId: data.nodeId,
    nodeType: graph.nodes.find(node => node.id === data.nodeId)?.type ?? '', nodeLabel: labelOf(graph, data.nodeId),
    status: data.status, iterSeq: data.iterSeq ?? 1, sortOrder: data.sortOrder ?? 0, ...(data.fromVisitId && { fromVisitId: data.fromVisitId }),
    isFlyBack: data.isFlyBack ?? false, onCanvas: data.onCanvas ?? true, attempts: data.attempt ?? 0, recovered: data.recovered === true, startedAt: event.timestamp,
  }
}

function onRecorded(draft: Draft, event: Of<'visit_recorded'>): Change {
  const { data } = event
  const recorded = {
    key: data.visitId, visitId: data.visitId, nodeId: data.nodeId, nodeType: data.nodeType, nodeLabel: data.nodeLabel, status: data.status, iterSeq: data.iterSeq, sortOrder: data.sortOrder,
    ...(data.fromVisitId && { fromVisitId: data.fromVisitId }), isFlyBack: data.isFlyBack, onCanvas: data.onCanvas, attempts: data.attempts, output: data.output, error: data.error, usage: data.usage, changed: data.changed,
    ...(data.outputSize && { outputSize: data.outputSize }), ...(data.startedAt && { startedAt: data.startedAt }), ...(data.finishedAt && { finishedAt: data.finishedAt }), shared: data.shared === true, edited: data.edited ?? [],
  }
  if (draft.places.has(data.visitId)) {
    replace(draft, data.visitId, () => recorded)
  } else {
    draft.places.set(data.visitId, draft.steps.length)
    draft.steps.push({ ...EMPTY, ...recorded })
  }
  draft.forming.delete(formingKey('node', data.visitId))
  return {}
}

function onDecision(draft: Draft, event: Of<'planner_decision'>): Change {
  const { visitId, ...decision } = event.data
  replace(draft, visitId, () => ({ decision }))
  draft.forming.delete(formingKey('planner', visitId))
  return {}
}

function onStep(draft: Draft, at: { nodeId: string, visitId: string | null }, change: (step: Step) => Partial<Step>): Change {
  replace(draft, at.visitId ?? at.nodeId, change)
  return {}
}

function replace(draft: Draft, key: string, change: (step: Step) => Partial<Step>) {
  const place = draft.places.get(key)
  const step = place === undefined ? undefined : draft.steps[place]
  if (place !== undefined && step) draft.steps[place] = { ...step, ...change(step) }
}

/** In item order; a run that is told of again has another status. */
function withSubRun(before: readonly SubRun[], { subRunId, index, count, status }: Of<'sub_run'>['data']): SubRun[] {
  return [...before.filter(one => one.runId !== subRunId), { runId: subRunId, index, count, status }].sort((a, b) => a.index - b.index)
}

function asked(step: Step, pauseId: string, change: Partial<Asked>): Asked[] {
  return step.asked.map(one => (one.pauseId === pauseId ? { ...one, ...change } : one))
}

function onText(draft: Draft, event: Of<'text_delta'> | Of<'text_snapshot'>): Change {
  const { source, visitId, nodeId, text } = event.data
  const key = formingKey(source, visitId ?? nodeId)
  const before = draft.forming.get(key)
  draft.forming.set(key, event.type === 'text_snapshot'
    ? { text, since: event.timestamp, at: event.timestamp }
    : { text: (before?.text ?? '') + text, since: before?.since ?? event.timestamp, at: event.timestamp })
  return {}
}
