/** What can be said of one step of a run: its badge, the handles it activated, how long it worked and waited, its main value. Pure. */
import type { Decision, Envelope, GraphData, Usage } from '@/api/types'
import { beginningOf } from './bigValue'
import { withoutMarks } from './marks'
import type { RunView, Step } from './runView'

export type Badge = 'start' | 'jump' | 'revisit' | 'drawn'

/** Filled where no edge was drawn, outlined where a drawn edge led to a revisit, quiet on a first drawn step. */
export function badgeOf(step: Pick<Step, 'fromVisitId' | 'onCanvas' | 'iterSeq'>): Badge {
  if (step.fromVisitId === undefined) return 'start'
  if (!step.onCanvas) return 'jump'
  return step.iterSeq > 1 ? 'revisit' : 'drawn'
}

/** The handles that this step activated: a drawn edge that leaves by one of them may be followed. */
export function activeHandles(step: Pick<Step, 'status' | 'output' | 'nodeType'>): readonly string[] {
  const data = step.output?.data ?? {}
  const chosen = [data['branch'], typeof data['action'] === 'string' ? `action-${data['action']}` : undefined].filter((name): name is string => typeof name === 'string')
  if (step.status === 'FAILED') return step.output === null ? ['error'] : ['error', 'output']
  if (step.status !== 'SUCCESS') return []
  if (step.nodeType === 'condition') return chosen
  return step.nodeType === 'humanInput' ? [...chosen, 'timeout', 'output'] : ['output']
}

const MAIN = ['text', 'final_response', 'result']

/** `text`, else `final_response`, else `result`, else the only variable, else all of them. */
export function mainValue(output: Envelope | null | undefined): unknown {
  if (!output) return undefined
  const { data } = output
  const name = MAIN.find(one => one in data)
  if (name !== undefined) return data[name]
  const names = Object.keys(data)
  return names.length === 1 ? data[names[0] as string] : names.length === 0 ? undefined : data
}

/** What a step says in a card: a condition its branch and why, anything else its main value. */
export function saidBy(step: Pick<Step, 'nodeId' | 'nodeType' | 'output'>, graph: GraphData): unknown {
  const { branch, reason } = step.output?.data ?? {}
  if (step.nodeType !== 'condition' || typeof branch !== 'string') return mainValue(step.output)
  return [branchName(branch, graph.nodes.find(node => node.id === step.nodeId)?.data['conditions']), typeof reason === 'string' ? reason : ''].filter(Boolean).join(' · ')
}

/** `IF`, `ELIF 1`, `ELSE`: handles are positions, and the one behind the last is ELSE. */
function branchName(handle: string, conditions: unknown): string {
  const index = /^branch-(\d+)$/.exec(handle)?.[1]
  if (index === undefined) return handle
  const at = Number(index)
  if (Array.isArray(conditions) && at >= conditions.length) return 'ELSE'
  return at === 0 ? 'IF' : `ELIF ${at}`
}

/** What a text says at a glance: one line without the marks of markdown. */
export function glance(value: unknown, most = 120): string {
  return excerpt(typeof value === 'string' ? withoutMarks(value.slice(0, most * 6)) : value, most)
}

/** A value as it is, flat and short. */
export function excerpt(value: unknown, most = 120): string {
  if (value === undefined) return ''
  const text = (typeof value === 'string' ? value.slice(0, most * 4) : beginningOf(value, most * 4)).replace(/\s+/g, ' ').trim()
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}

/** Time that a person was waited for, of which nobody is billed. */
export function waitedMs(step: Step, now: Date): number {
  return step.asked.reduce((sum, one) => sum + Math.max(0, time(one.endedAt, now) - time(one.at, now)), 0)
}

export function durationMs(step: Step, now: Date): number | undefined {
  if (step.startedAt === undefined) return undefined
  return Math.max(0, time(step.finishedAt, now) - time(step.startedAt, now))
}

export function workedMs(step: Step, now: Date): number | undefined {
  const all = durationMs(step, now)
  return all === undefined ? undefined : Math.max(0, all - waitedMs(step, now))
}

const time = (at: string | undefined, now: Date) => (at === undefined ? now.getTime() : new Date(at).getTime())

export function tokensOf(usage: Usage | undefined): number {
  return usage ? usage.inputTokens + usage.outputTokens : 0
}

const NOTHING: Usage = { inputTokens: 0, outputTokens: 0, calls: 0, cost: null, currency: null, estimated: null }

function plus(a: Usage, b: Usage | undefined): Usage {
  if (!b) return a
  return {
    inputTokens: a.inputTokens + b.inputTokens, outputTokens: a.outputTokens + b.outputTokens, calls: a.calls + b.calls,
    cost: a.cost === null && b.cost === null ? null : (a.cost ?? 0) + (b.cost ?? 0), currency: a.currency ?? b.currency, estimated: (a.estimated ?? false) || (b.estimated ?? false) || null,
  }
}

/** What a run has used: the server's sum once it has ended, else the sum of what its steps have recorded so far. */
export function usageOf(view: RunView): { all: Usage, planner: Usage } {
  if (view.usage) return { all: view.usage, planner: view.usage.planner }
  const steps = view.steps.filter(step => !step.shared)
  const planner = steps.reduce((sum, step) => plus(sum, step.decision?.usage), NOTHING)
  return { planner, all: steps.reduce((sum, step) => plus(sum, step.usage), planner) }
}

/** The step that works or waits now: the last of those that do. */
export function currentStep(view: RunView): Step | undefined {
  return view.steps.findLast(step => step.status === 'RUNNING' || step.status === 'PAUSED')
}

export function runMs(view: RunView, now: Date): number | undefined {
  if (view.startedAt === undefined) return undefined
  return Math.max(0, time(view.finishedAt, now) - time(view.startedAt, now))
}

export function flyBacks(steps: readonly Step[]): { all: number, jumps: number } {
  return { all: steps.filter(step => step.isFlyBack).length, jumps: steps.filter(step => step.fromVisitId !== undefined && !step.onCanvas).length }
}

/** Bytes of a text as a token is estimated where a provider tells no usage: four to one. */
export function estimatedTokens(text: string): number {
  return Math.ceil(new TextEncoder().encode(text).length / 4)
}

/** The reason of a fallback repeats what made it fall back, and the cause is told by itself. */
export function isCauseAgain({ source, reason, cause }: Decision): boolean {
  return source === 'fallback' && Boolean(cause) && reason.includes(cause ?? '')
}
