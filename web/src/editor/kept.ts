/** A draft that could not be saved, kept on this device until it can. */
import { readStored, store } from '@/shell/stored'

export interface KeptDraft {
  /** The stored revision that the draft was made from, and what it held. */
  readonly revision: number
  readonly base: Readonly<Record<string, unknown>>
  readonly workflow: Readonly<Record<string, unknown>>
}

const keyOf = (workflowId: string) => `flyback.draft.${workflowId}`

export const keptDraft = (workflowId: string): KeptDraft | undefined => readStored<KeptDraft>(keyOf(workflowId))
export function keepDraft(workflowId: string, draft: KeptDraft): void { store(keyOf(workflowId), draft) }
export function dropDraft(workflowId: string): void {
  try {
    localStorage.removeItem(keyOf(workflowId))
  } catch {
    // A browser that keeps nothing has nothing to drop.
  }
}
