import { expect, it } from 'vitest'
import { namedIn } from './rejected'

it.each([
  ['{"next": "museum", "reason": "It is open."}', 'museum'],
  ['```json\n{"next": "mu\\"s\\u00e9um"}\n```', 'mu"séum'],
  ['first {"next": "a"}, no: {\'next\': \'b\'}', 'b'],
  ['{"nxt": "out"}', undefined],
  ['I would go to the museum', undefined],
  ['{"next": "bro\\ken"}', 'bro\\ken'],
])('%j names %j', (answer, name) => {
  expect(namedIn(answer)).toBe(name)
})
