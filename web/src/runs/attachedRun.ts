/**
 * The run that is shown over the drawing in the editor: it gives the canvas its state and the panel its tabs.
 *
 * Called once, in the editor page's setup. Without a run the canvas is told so. The selected visit stands in the
 * address (`visit=n`), so that a link leads to it.
 */
import { computed, provide, type Ref } from 'vue'
import type { Mode } from '@/api/types'
import { RUN_STATE } from '@/canvas/runState'
import { useCanvasQuestion } from './useCanvasQuestion'
import { useRunCommands } from './useRunCommands'
import { useRunStates } from './useRunStates'
import { useSelectionInAddress } from './useSelectionInAddress'
import { provideRun, useShownRun } from './useShownRun'

export interface AttachedRun {
  readonly runId: Readonly<Ref<string | undefined>>
  readonly counts: Readonly<Ref<{ visits?: number, decisions?: number }>>
  /** Of the run, which keeps the mode that it started in. */
  readonly mode: Readonly<Ref<Mode | undefined>>
  readonly isLive: Readonly<Ref<boolean>>
  readonly openStop: (nodeId: string, n: number) => void
  readonly question: ReturnType<typeof useCanvasQuestion>
}

export function useAttachedRun(runId: () => string | undefined): AttachedRun {
  const run = useShownRun(runId)
  provideRun(run)
  provide(RUN_STATE, useRunStates(run))
  useSelectionInAddress(run)
  useRunCommands(run)

  return {
    runId: run.id,
    counts: computed(() => (run.view.value ? { visits: run.steps.value.length, ...(run.view.value.mode === 'AGENTIC' && { decisions: run.steps.value.filter(step => step.decision).length }) } : {})),
    mode: computed(() => run.head.value?.mode),
    isLive: computed(() => run.view.value !== undefined && !run.isEnded.value),
    openStop: (_nodeId, n) => { run.selectStop(n) },
    question: useCanvasQuestion(run),
  }
}
