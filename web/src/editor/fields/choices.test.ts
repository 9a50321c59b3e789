import { describe, expect, it } from 'vitest'
import type { McpTool, Skill } from '@/api/types'
import { argumentsOf, fitting, skillChoice, toolChoice, variableChoice, type Choice } from './choices'

const choices: Choice[] = [
  { value: 'desk__echo', title: 'desk__echo', about: 'Says it again.' },
  { value: 'add', title: 'add', about: 'Adds two numbers to the desk.' },
  { value: 'later', title: 'later' },
]
const tool = (of: Partial<McpTool>) => ({ name: 'add', qualifiedName: 'desk__add', description: 'Adds.', inputSchema: {}, accepted: true, approval: false, ...of }) as McpTool

describe('what can be chosen', () => {
  it.each([['', 3], ['SAYS again', 1], ['desk', 2], ['nothing', 0]])('%j finds %i by name and by what is said of it', (search, count) => {
    expect(fitting(choices, search)).toHaveLength(count)
  })
  it('begins with what begins as it is typed', () => {
    expect(fitting(choices, 'add').map(choice => choice.value)).toEqual(['add'])
    expect(fitting([choices[1] as Choice, choices[0] as Choice], 'desk').map(choice => choice.value)).toEqual(['desk__echo', 'add'])
  })
  it('says why something cannot be chosen', () => {
    expect(skillChoice({ id: 'a', name: 'A', description: 'Does a.', usable: false } as Skill, 'no')).toEqual({ value: 'a', title: 'A', about: 'Does a.', note: 'a', refusal: 'no' })
    expect(toolChoice(tool({ accepted: false, approval: true }), 'desk__add', { changed: 'changed', asks: 'asks' })).toEqual({ value: 'desk__add', title: 'desk__add', about: 'Adds.', note: 'asks', refusal: 'changed' })
  })
  it('finds a variable by its node too, under which it stands', () => {
    const choice = variableChoice({ reference: 'n1.text', name: 'text', nodeLabel: 'Write draft', type: 'string', note: 'The draft' })
    expect(choice).toEqual({ value: 'n1.text', title: 'text', group: 'Write draft', about: 'The draft', note: 'string' })
    expect(fitting([...choices, choice], 'draft write')).toEqual([choice])
  })
  it('tells what a tool takes, whatever its schema says', () => {
    const schema = { properties: { a: { type: 'integer', description: 'First' }, b: { type: ['string', 'null'] }, c: null }, required: ['a'] }
    expect(argumentsOf(tool({ inputSchema: schema }))).toEqual([
      { name: 'a', type: 'integer', required: true, about: 'First' }, { name: 'b', type: 'string | null', required: false, about: '' }, { name: 'c', type: '', required: false, about: '' },
    ])
    expect([argumentsOf(tool({})), argumentsOf(tool({ inputSchema: { properties: 1 } as never }))]).toEqual([[], []])
  })
})
