/** The questions as the inbox lists them: what each asks in a line, what a search finds, which comes next. Pure. */
import type { Pause } from '@/api/types'
import { withoutMarks } from '@/runs/model/marks'
import { firstAnswer } from './answer'

/** What is asked, without marks: the prompt, else the questions. */
export function askedBy(pause: Pause): string {
  return withoutMarks(pause.prompt || pause.questions.map(question => question.text).join(' '))
}

/** Every word of the search stands somewhere: in the names, in what is asked, in what was said. */
export function found(pause: Pause, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return true
  const said = pause.status === 'ANSWERED' ? firstAnswer(pause)?.answers.map(answer => answer.text) ?? [] : []
  const asked = pause.questions.flatMap(question => [question.text, question.tool ?? '', question.server ?? ''])
  const text = [pause.workflowName, pause.nodeLabel, pause.nodeId, pause.runId, pause.prompt, ...asked, ...said].join(' ').toLowerCase()
  return words.every(word => text.includes(word))
}

/** The question so many places further in the list; the first or the last where none is looked at. */
export function neighbour(pauses: readonly Pause[], from: string | undefined, by: 1 | -1): Pause | undefined {
  const at = pauses.findIndex(pause => pause.pauseId === from)
  if (at < 0) return by === 1 ? pauses[0] : pauses.at(-1)
  return pauses[Math.min(pauses.length - 1, Math.max(0, at + by))]
}
