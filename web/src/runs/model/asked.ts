/** What became of a question that a step asked: what was said to each part of it, and the way that was taken. Pure. */
import type { Asked } from './runView'
import { excerpt } from './steps'

/** Long enough for what a person says; the workspace has the rest. */
const MOST = 400

export interface Answered { readonly id: string, readonly text: string, readonly said?: string }

export function answered(one: Asked): Answered[] {
  const given = Array.isArray(one.answers) ? one.answers.filter(isAnswer) : []
  return one.questions.map(({ id, text }) => {
    const answer = given.find(({ questionId }) => questionId === id)
    return { id, text, ...(answer && answer.value !== null && { said: spoken(answer.value) }) }
  })
}

/** The name of the action of a form; none of an agent's question, where answering is the usual. */
export function actionTaken(one: Asked): string | undefined {
  return one.kind === 'form' ? one.actions.find(action => action.id === one.action)?.label ?? one.action : undefined
}

const isAnswer = (value: unknown): value is { questionId: string, value: unknown } => typeof value === 'object' && value !== null && 'questionId' in value && 'value' in value

function spoken(value: unknown): string {
  return Array.isArray(value) && value.every(item => typeof item === 'string') ? excerpt(value.join(' · '), MOST) : excerpt(value, MOST)
}
