import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readJson, readNumber, writeJson } from './json'

/** Any JSON, with integers of any size in it. */
const json = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null), fc.boolean(), fc.string({ unit: 'grapheme' }), fc.maxSafeInteger(),
    fc.bigInt().filter(integer => !Number.isSafeInteger(Number(integer))),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter(number => !Object.is(number, -0) && (!Number.isInteger(number) || Number.isSafeInteger(number) || Math.abs(number) >= 1e21)),
    fc.array(tie('value')),
    fc.dictionary(fc.string().filter(key => key !== '__proto__'), tie('value')),
  ),
})).value

describe('JSON with integers of any size', () => {
  it('is read and written without rounding', () => {
    const text = '{"id":9007199254740993,"list":[-123456789012345678901234567890,1],"half":0.5}'
    expect(readJson(text)).toEqual({ id: 9007199254740993n, list: [-123456789012345678901234567890n, 1], half: 0.5 })
    expect(writeJson(readJson(text))).toBe(text)
  })
  it('is written in lines', () => {
    expect(writeJson({ id: 9007199254740993n }, 2)).toBe('{\n  "id": 9007199254740993\n}')
    expect(writeJson(9007199254740993n)).toBe('9007199254740993')
  })
  it('leaves texts that look like numbers texts', () => {
    const text = String.raw`{"9007199254740993":"9007199254740993","quoted":"\\\" 9007199254740993 \\","then":9007199254740993}`
    expect(readJson(text)).toEqual({ '9007199254740993': '9007199254740993', 'quoted': '\\" 9007199254740993 \\', 'then': 9007199254740993n })
  })
  it('keeps what a number holds exactly a number, and what is no integer', () => {
    expect(readJson('[9007199254740991, 1234567890123456, 0.12345678901234567, 12345678901234567.5, 1e21]')).toEqual([9007199254740991, 1234567890123456, 0.12345678901234567, 12345678901234567.5, 1e21])
  })
  it('refuses what is no JSON', () => {
    for (const text of ['09007199254740993', '{"a":9007199254740993,}', '[9007199254740993', '"9007199254740993', '{9007199254740993: 1}', '-']) expect(() => readJson(text), text).toThrow(SyntaxError)
  })
  it('comes back as it was, whatever it is', () => {
    fc.assert(fc.property(json, fc.constantFrom(undefined, 2), (value, indent) => { expect(readJson(writeJson(value, indent))).toEqual(value) }))
  })
  it('reads megabytes of escapes beside a big integer', () => {
    const long = '\\"'.repeat(2_000_000)
    expect(readJson(writeJson({ long, id: 9007199254740993n }))).toEqual({ long, id: 9007199254740993n })
  })
})

describe('a number that is typed', () => {
  it.each([['12', 12], [' -3 ', -3], ['0.5', 0.5], ['1e3', 1000], ['9007199254740993', 9007199254740993n], ['-9007199254740993', -9007199254740993n], ['+9007199254740993', 9007199254740993n], ['many', Number.NaN]])('%s', (text, value) => {
    expect(readNumber(text)).toBe(value)
  })
})
