import fc from 'fast-check'
import { expect, it } from 'vitest'
import { exactJson } from './exact'

it('spells out what hides or turns text around', () => {
  expect(exactJson({ to: 'a\u202eb', from: 'x\u200by\u00a0z' })).toBe('{\n  "to": "a\\u202eb",\n  "from": "x\\u200by\\u00a0z"\n}')
  expect(exactJson('\u{e0041}')).toBe('"\\udb40\\udc41"')
})
it('says exactly the value, whatever it is', () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => { expect(JSON.parse(exactJson(value))).toEqual(JSON.parse(JSON.stringify(value))) }))
})
