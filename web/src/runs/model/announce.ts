/** What a screen reader is told of a run, once each: the next visit, the finished reason, a question, the end. Pure. */
import type { RunView, Step } from './runView'

export type Announcement =
  | { readonly kind: 'visit', readonly n: number, readonly node: string, readonly times: number }
  | { readonly kind: 'reason', readonly decision: NonNullable<Step['decision']> }
  | { readonly kind: 'question', readonly text: string }
  | { readonly kind: 'end', readonly status: RunView['status'] }

/** What is new in the later view, most urgent last. Views that are far apart (a replay of what was) say only where they are. */
export function announcements(before: RunView | undefined, after: RunView): Announcement[] {
  if (!before) return []
  const said: Announcement[] = []
  for (const [index, step] of after.steps.entries()) {
    const old = before.steps.find(one => one.key === step.key)
    if (step.decision && !old?.decision && old) said.push({ kind: 'reason', decision: step.decision })
    if (!old && after.mode === 'AGENTIC') said.push({ kind: 'visit', n: index + 1, node: step.nodeLabel, times: step.iterSeq })
    const open = step.asked.find(asked => asked.endedAt === undefined)
    if (open && !old?.asked.some(asked => asked.pauseId === open.pauseId)) said.push({ kind: 'question', text: open.questions[0]?.text ?? '' })
  }
  if (after.finishedAt !== undefined && before.finishedAt === undefined) said.push({ kind: 'end', status: after.status })
  return said.length > 4 ? said.slice(-2) : said
}
