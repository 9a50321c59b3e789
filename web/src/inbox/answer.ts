/**
 * What a person says to a question, from the controls of the card to what is sent. Pure.
 *
 * A question is answered by choosing, by words of one's own, or both where several may be chosen. A form's field is one
 * of a run's inputs; a field that was emptied is sent as null, since what is left out takes its default.
 */
import { writeJson } from '@/api/json'
import type { Pause, PauseAnswerGiven, Question } from '@/api/types'
import { fieldOf, readTyped, typed, type InputFault, type InputField } from '@/runs/model/runForm'

export interface Said { readonly chosen: readonly string[], readonly other: boolean, readonly words: string }
/** What stands in the controls: words and choices by question, a form's values by field. */
export interface Draft { readonly said: Readonly<Record<string, Said>>, readonly form: Readonly<Record<string, string | boolean>> }
export type AnswerFault = InputFault

export const choicesOf = (question: Question): readonly string[] => question.choices ?? []

export function formFields(pause: Pause): InputField[] {
  return pause.questions.flatMap(({ id, text, schema }) => (schema ? [{ ...fieldOf(schema), name: id, label: text }] : []))
}

export function emptyDraft(pause: Pause): Draft {
  const asked = pause.questions.filter(question => !question.schema)
  return {
    said: Object.fromEntries(asked.map(question => [question.id, { chosen: [], other: choicesOf(question).length === 0, words: '' }])),
    form: typed(formFields(pause), {}),
  }
}

/** The question with this choice taken, or given back where several may be taken. */
export function choose(question: Question, said: Said, choice: string): Said {
  if (question.multi !== true) return { ...said, chosen: [choice], other: false }
  const has = said.chosen.includes(choice)
  return { ...said, chosen: choicesOf(question).filter(one => (one === choice ? !has : said.chosen.includes(one))) }
}

export function chooseOther(question: Question, said: Said): Said {
  return question.multi === true ? { ...said, other: !said.other } : { ...said, chosen: [], other: true }
}

function valueOf(question: Question, said: Said): string | string[] | undefined {
  const own = said.other && said.words.trim() !== '' ? [said.words.trim()] : []
  const all = [...said.chosen, ...own]
  if (all.length === 0) return undefined
  return question.multi === true ? all : all[0]
}

export interface ReadAnswer { readonly given: PauseAnswerGiven, readonly faults: ReadonlyMap<string, AnswerFault> }

/** Reads the controls for one action. Nothing is wanted for an action that takes no answer. */
export function readAnswer(pause: Pause, draft: Draft, action: string | undefined): ReadAnswer {
  const taken = action === undefined ? {} : { action }
  if (action === 'cancel' || (pause.kind === 'question' && action === 'skip')) return { given: taken, faults: new Map() }
  const fields = formFields(pause)
  const { inputs, faults } = readTyped(fields, draft.form)
  const found = new Map(faults)
  const answers: NonNullable<PauseAnswerGiven['answers']> = fields.map(({ name }) => ({ questionId: name, value: (inputs[name] ?? null) as Pause['answers'] }))
  for (const question of pause.questions) {
    const said = draft.said[question.id]
    if (!said) continue
    const value = valueOf(question, said)
    if (value !== undefined) answers.push({ questionId: question.id, value })
    else if (pause.kind === 'question') found.set(question.id, 'required')
  }
  return { given: { ...taken, ...(answers.length > 0 && { answers }) }, faults: found }
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

export interface FirstAnswer { readonly answers: readonly { questionId: string, text: string }[], readonly action?: string, readonly by: string, readonly at?: string }

/** The answer that counts, as a pause or the refusal of a later answer carries it. */
export function firstAnswer(from: unknown): FirstAnswer | undefined {
  if (!isRecord(from)) return undefined
  const { answers, action, answeredBy, answeredAt } = from
  const list = Array.isArray(answers) ? answers.filter(isRecord) : []
  return {
    answers: list.flatMap(({ questionId, value }) => (value === null ? [] : [{ questionId: String(questionId), text: spoken(value) }])),
    ...(typeof action === 'string' && { action }),
    by: typeof answeredBy === 'string' ? answeredBy : '',
    ...(typeof answeredAt === 'string' && { at: answeredAt }),
  }
}

function spoken(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value) && value.every(item => typeof item === 'string')) return value.join(' · ')
  return writeJson(value)
}
