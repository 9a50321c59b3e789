import { describe, expect, it } from 'vitest'
import type { Pause, Question } from '@/api/types'
import { choose, chooseOther, emptyDraft, firstAnswer, formFields, readAnswer, type Draft, type Said } from './answer'

function pause(kind: Pause['kind'], questions: Partial<Question>[]): Pause {
  return { kind, questions: questions.map((question, n) => ({ id: `q${n}`, text: `Question ${n}`, ...question })) } as Pause
}
const region: Partial<Question> = { text: 'Which region?', choices: ['eu-1', 'eu-2', 'us-1'] }
const said = (draft: Draft, ...all: Said[]): Draft => ({ ...draft, said: Object.fromEntries(all.map((one, n) => [`q${n}`, one])) })

describe('an answer to a question', () => {
  it('is one choice, and another choice takes its place', () => {
    const asked = pause('question', [region])
    const question = asked.questions[0] as Question
    const first = choose(question, emptyDraft(asked).said['q0'] as Said, 'eu-1')
    const draft = said(emptyDraft(asked), choose(question, first, 'eu-2'))
    expect(readAnswer(asked, draft, 'answer')).toEqual({ given: { action: 'answer', answers: [{ questionId: 'q0', value: 'eu-2' }] }, faults: new Map() })
  })
  it('may be in words of one\'s own in place of a choice', () => {
    const asked = pause('question', [region])
    const question = asked.questions[0] as Question
    const own = { ...chooseOther(question, choose(question, { chosen: [], other: false, words: '' }, 'eu-1')), words: ' all of them ' }
    expect(readAnswer(asked, said(emptyDraft(asked), own), 'answer').given.answers).toEqual([{ questionId: 'q0', value: 'all of them' }])
  })
  it('is a list in the order of the choices where several may be taken, one\'s own words last', () => {
    const asked = pause('question', [{ ...region, multi: true }])
    const question = asked.questions[0] as Question
    let one: Said = { chosen: [], other: false, words: 'mars' }
    for (const choice of ['us-1', 'eu-1', 'eu-2', 'eu-2']) one = choose(question, one, choice)
    expect(readAnswer(asked, said(emptyDraft(asked), chooseOther(question, one)), 'answer').given.answers).toEqual([{ questionId: 'q0', value: ['eu-1', 'us-1', 'mars'] }])
  })
  it('is wanted for every question', () => {
    const asked = pause('question', [{}, {}])
    const draft = said(emptyDraft(asked), { chosen: [], other: true, words: 'yes' }, { chosen: [], other: true, words: '  ' })
    expect([...readAnswer(asked, draft, 'answer').faults]).toEqual([['q1', 'required']])
  })
  it.each(['skip', 'cancel'])('is not wanted to %s', (action) => {
    const asked = pause('question', [{}])
    expect(readAnswer(asked, emptyDraft(asked), action)).toEqual({ given: { action }, faults: new Map() })
  })
  it('is a note that may be left out where a tool asks to be allowed', () => {
    const asked = pause('approval', [{}])
    expect(readAnswer(asked, emptyDraft(asked), 'deny')).toEqual({ given: { action: 'deny' }, faults: new Map() })
  })
})

describe('an answer to a form', () => {
  const schema = (type: string, more = {}) => ({ name: 'x', label: '', description: '', required: false, default: null, options: [], type, ...more })
  const form = pause('form', [
    { id: 'title', schema: schema('string', { default: 'Draft' }) },
    { id: 'count', schema: schema('number', { required: true }) },
    { id: 'urgent', schema: schema('boolean') },
    { id: 'team', schema: schema('select', { options: ['ops', 'web'] }) },
  ])
  it('has the fields that the node declares, filled in with their defaults', () => {
    expect(formFields(form).map(field => [field.name, field.type])).toEqual([['title', 'string'], ['count', 'number'], ['urgent', 'boolean'], ['team', 'select']])
    expect(emptyDraft(form).form).toEqual({ title: 'Draft', count: '', urgent: false, team: '' })
  })
  it('carries values of the right type, and null for what was emptied', () => {
    const draft = { said: {}, form: { title: '', count: '2.5', urgent: true, team: 'ops' } }
    expect(readAnswer(form, draft, 'approve').given).toEqual({
      action: 'approve',
      answers: [{ questionId: 'title', value: null }, { questionId: 'count', value: 2.5 }, { questionId: 'urgent', value: true }, { questionId: 'team', value: 'ops' }],
    })
  })
  it('tells each field that does not fit', () => {
    expect([...readAnswer(form, { said: {}, form: { ...emptyDraft(form).form, count: 'two' } }, undefined).faults]).toEqual([['count', 'number']])
    expect([...readAnswer(form, emptyDraft(form), undefined).faults]).toEqual([['count', 'required']])
  })
})

describe('the first answer', () => {
  it('is read from a refusal: what was said, by whom and when', () => {
    const current = { answers: [{ questionId: 'q0', value: ['a', 'b'] }, { questionId: 'q1', value: null }, { questionId: 'q2', value: 3 }], action: 'answer', answeredBy: 'Ada', answeredAt: '2026-01-01T00:00:00Z' }
    expect(firstAnswer(current)).toEqual({ answers: [{ questionId: 'q0', text: 'a · b' }, { questionId: 'q2', text: '3' }], action: 'answer', by: 'Ada', at: '2026-01-01T00:00:00Z' })
  })
  it('is nothing where none is shown', () => {
    expect(firstAnswer(undefined)).toBeUndefined()
  })
})
