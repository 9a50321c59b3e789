/** The last runs of a workflow as bars. Pure. */
import type { RunOutcome } from '@/api/types'

export interface Bar { runId: string, status: RunOutcome['status'], x: number, y: number, height: number }

const SHOWN = 12
const STEP = 11
const TALLEST = 24
const LOWEST = 6

/** Bars for the last runs, oldest left: the more visits, the taller; empty places at the left while there are few. */
export function bars(newestFirst: readonly RunOutcome[]): { bars: Bar[], places: number[] } {
  const shown = newestFirst.slice(0, SHOWN).reverse()
  const most = Math.max(8, ...shown.map(run => run.visitCount ?? 0))
  const first = SHOWN - shown.length
  return {
    places: Array.from({ length: first }, (_, index) => 1 + index * STEP),
    bars: shown.map((run, index) => {
      const height = run.visitCount === null ? LOWEST : Math.round(LOWEST + (TALLEST - LOWEST) * Math.min(1, run.visitCount / most))
      return { runId: run.runId, status: run.status, x: 1 + (first + index) * STEP, y: 28 - height, height }
    }),
  }
}
