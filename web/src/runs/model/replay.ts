/** Playing a stored run: how long each step is shown. Pure. */
import type { Step } from './runView'
import { waitedMs, workedMs } from './steps'

export const SPEEDS = ['half', 'one', 'four', 'max'] as const
export type Speed = typeof SPEEDS[number]

const TIMES: Record<Exclude<Speed, 'max'>, number> = { half: 0.5, one: 1, four: 4 }
const MOST_WAIT_MS = 2000
const LEAST_MS = 1000 / 6

/** How long a step stays before the next: its own time and the decision's, waiting for people cut to two seconds. */
export function stayMs(step: Step, speed: Speed): number {
  if (speed === 'max') return LEAST_MS
  const now = new Date(step.finishedAt ?? step.startedAt ?? 0)
  const real = (workedMs(step, now) ?? 0) + Math.min(MOST_WAIT_MS, waitedMs(step, now)) + (step.decision?.latencyMs ?? 0)
  return Math.max(LEAST_MS, real / TIMES[speed])
}
