/** What a run used, by node, and the planner's part. Pure. */
import type { RunView } from './runView'
import { durationMs } from './steps'

export interface UsageRow { readonly nodeId: string, readonly label: string, readonly visits: number, readonly calls: number, readonly inputTokens: number, readonly outputTokens: number, readonly cost: number | null, readonly ms: number }

export function usageByNode(view: RunView): UsageRow[] {
  const rows = new Map<string, UsageRow>()
  const now = new Date()
  for (const step of view.steps) {
    if (step.startedAt === undefined || step.shared) continue
    const before = rows.get(step.nodeId)
    const cost = step.usage?.cost ?? null
    rows.set(step.nodeId, {
      nodeId: step.nodeId, label: step.nodeLabel, visits: (before?.visits ?? 0) + 1, calls: (before?.calls ?? 0) + (step.usage?.calls ?? 0),
      inputTokens: (before?.inputTokens ?? 0) + (step.usage?.inputTokens ?? 0), outputTokens: (before?.outputTokens ?? 0) + (step.usage?.outputTokens ?? 0),
      cost: cost === null ? before?.cost ?? null : (before?.cost ?? 0) + cost, ms: (before?.ms ?? 0) + (durationMs(step, now) ?? 0),
    })
  }
  return [...rows.values()].sort((a, b) => b.inputTokens + b.outputTokens - a.inputTokens - a.outputTokens || b.ms - a.ms)
}

/** Time that decisions took. */
export function plannerMs(view: RunView): number {
  return view.steps.reduce((sum, step) => sum + (step.decision?.latencyMs ?? 0), 0)
}
