import { expect, it } from 'vitest'
import { actionTaken, answered } from './asked'
import type { Asked } from './runView'

const asked: Asked = {
  pauseId: 'p', kind: 'form', prompt: '', at: '2026-01-01T00:00:00Z', questions: [{ id: 'a', text: 'Colour' }, { id: 'b', text: 'Sizes' }, { id: 'c', text: 'Note' }],
  actions: [{ id: 'go', label: 'Go on' }], action: 'go', answers: [{ questionId: 'b', value: ['S', 'M'] }, { questionId: 'c', value: null }, { questionId: 'a', value: 'red' }],
}

it('puts each answer to its question, in whatever order they came', () => {
  expect(answered(asked)).toEqual([{ id: 'a', text: 'Colour', said: 'red' }, { id: 'b', text: 'Sizes', said: 'S · M' }, { id: 'c', text: 'Note' }])
})
it('leaves questions open that were skipped', () => {
  expect(answered({ ...asked, answers: [] }).map(({ said }) => said)).toEqual([undefined, undefined, undefined])
})
it('names the action of a form and none of a question', () => {
  expect([actionTaken(asked), actionTaken({ ...asked, action: 'other' }), actionTaken({ ...asked, kind: 'question', action: 'answer' })]).toEqual(['Go on', 'other', undefined])
})
