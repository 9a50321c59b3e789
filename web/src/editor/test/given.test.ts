import { describe, expect, it } from 'vitest'
import { controlOf, givenBy } from './given'

const FIELDS = [
  { key: 'topic', label: 'topic', type: 'text' }, { key: 'draft__count', label: 'Draft · count', type: 'integer' },
  { key: 'draft__facts', label: 'Draft · facts', type: 'json' }, { key: 'brief', label: 'brief', type: 'boolean' },
] as const

describe('what is typed for a test', () => {
  it('is given by its type, and what is left empty is left to the visit', () => {
    const given = givenBy(FIELDS, { topic: 'Letters', draft__count: '3', draft__facts: '[1]', brief: 'false' }, [])
    expect(given.variables).toEqual({ topic: 'Letters', draft__count: 3, draft__facts: [1], brief: false })
    expect(givenBy(FIELDS, { topic: ' ', brief: '' }, []).variables).toEqual({})
  })
  it('may have further variables, of which those without a name do not count', () => {
    const given = givenBy(FIELDS, {}, [{ name: ' more ', type: 'json', value: '{"a":1}' }, { name: '', type: 'text', value: 'x' }])
    expect(given.variables).toEqual({ more: { a: 1 } })
  })
  it('says which are not of their type', () => {
    const { faults } = givenBy(FIELDS, { draft__count: 'many', draft__facts: '[' }, [{ name: 'n', type: 'number', value: 'x' }])
    expect([...faults]).toEqual([['draft__count', 'integer'], ['draft__facts', 'json'], ['n', 'number']])
  })
  it('is a choice that can be left open for yes or no', () => {
    expect(controlOf(FIELDS[3])).toMatchObject({ type: 'select', options: ['true', 'false'], required: false })
  })
})
