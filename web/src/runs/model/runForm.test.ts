import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { writeJson } from '@/api/json'
import type { GraphData } from '@/api/types'
import { inputForm, readObject, readTyped, typed, type InputField } from './runForm'

const graph = (...inputs: { id: string, variables: unknown }[]): GraphData => ({
  nodes: [...inputs.map(({ id, variables }) => ({ id, type: 'userInput', data: { variables } })), { id: 'out', type: 'output', data: {} }],
  edges: [{ id: 'e', source: 'A', target: 'B' }],
})
const field = (type: InputField['type'], more: Partial<InputField> = {}): InputField => ({ name: 'x', label: 'x', description: '', type, required: false, options: [], initial: undefined, ...more })

describe('the form of a run', () => {
  it('asks for what its start declares; what later nodes ask for may be given too', () => {
    const form = inputForm(graph({ id: 'A', variables: [{ name: 'topic', label: 'Topic', required: true, default: 'tides' }] }, { id: 'B', variables: [{ name: 'topic' }, { name: 'wish', type: 'text', required: true }] }), 'AGENTIC')
    expect(form.start).toEqual([{ name: 'topic', label: 'Topic', description: '', type: 'string', required: true, options: [], initial: 'tides' }])
    expect(form.later.map(later => [later.name, later.type, later.required])).toEqual([['wish', 'text', false]])
  })
  it('starts a DAG run at every input that no edge leads to', () => {
    const form = inputForm(graph({ id: 'A', variables: [{ name: 'a' }] }, { id: 'B', variables: [{ name: 'b' }] }, { id: 'C', variables: [{ name: 'c', type: 'select', options: ['x', { value: 'y', label: 'Y' }] }] }), 'DAG')
    expect(form.start.map(start => start.name)).toEqual(['a', 'c'])
    expect(form.start[1]?.options).toEqual(['x', 'y'])
    expect(form.later.map(later => later.name)).toEqual(['b'])
  })
  it('has no field for a graph whose variables are broken', () => {
    expect(inputForm(graph({ id: 'A', variables: 'none' }, { id: 'B', variables: [null, { name: '' }] }), 'DAG')).toEqual({ start: [], later: [] })
  })
  it('fills in the last values before the defaults', () => {
    const fields = [field('string', { initial: 'tides' }), field('boolean', { name: 'b' }), field('json', { name: 'j', initial: { a: 1 } })]
    expect(typed(fields, {})).toEqual({ x: 'tides', b: false, j: '{\n  "a": 1\n}' })
    expect(typed(fields, { x: 'sands', b: true })).toMatchObject({ x: 'sands', b: true })
  })
  it('says what is missing or of another type, and leaves out what is empty', () => {
    const read = (of: InputField, value: string) => readTyped([of], { x: value })
    expect([...read(field('string', { required: true }), ' ').faults]).toEqual([['x', 'required']])
    expect(read(field('string'), '').inputs).toEqual({})
    expect([...read(field('integer'), '1.5').faults]).toEqual([['x', 'integer']])
    expect([...read(field('number'), 'many').faults]).toEqual([['x', 'number']])
    expect([...read(field('json'), '{').faults]).toEqual([['x', 'json']])
    for (const type of ['integer', 'number', 'json'] as const) expect(read(field(type), '9007199254740993').inputs).toEqual({ x: 9007199254740993n })
    expect(typed([field('integer')], { x: 9007199254740993n })).toEqual({ x: '9007199254740993' })
    expect(read(field('json'), '[1]').inputs).toEqual({ x: [1] })
  })
  it('gives back every value that was filled in', () => {
    fc.assert(fc.property(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.jsonValue(), (integer, number, flag, json) => {
      const fields = [field('integer', { name: 'i' }), field('number', { name: 'n' }), field('boolean', { name: 'b' }), field('json', { name: 'j' })]
      const values = { i: integer, n: number, b: flag, j: typeof json === 'string' || json === null ? [json] : json }
      const { inputs, faults } = readTyped(fields, typed(fields, values))
      expect([...faults]).toEqual([])
      expect(writeJson(inputs)).toBe(writeJson(values))
    }))
  })
  it('takes inputs as one JSON object and nothing else', () => {
    expect(readObject('{"a": [1]}')).toEqual({ a: [1] })
    expect(readObject('')).toEqual({})
    expect([readObject('[1]'), readObject('{')]).toEqual([undefined, undefined])
  })
})
