import { describe, expect, it } from 'vitest'
import type { NodeType } from '@/api/types'
import { openDocument } from './document'
import { testFields, variablesOf } from './testInputs'

const type = (name: string, category: string, writes: string[], editors: Record<string, string> = {}) =>
  ({ type: name, category, writes, runs: true, icon: '', handles: [], title: {}, summary: {}, configSchema: { properties: Object.fromEntries(Object.entries(editors).map(([field, editor]) => [field, { 'x-editor': editor }])) } }) as unknown as NodeType
const TYPES = new Map([
  type('userInput', 'input', [], { variables: 'variables' }),
  type('llm', 'model', ['text'], { userPrompt: 'template', outputs: 'outputs', description: 'longText' }),
  type('condition', 'logic', ['branch'], { conditions: 'conditions' }),
  type('aggregate', 'data', ['text'], { variables: 'references' }),
].map(one => [one.type, one]))

const drawn = openDocument({
  name: 'N', mode: 'AGENTIC', graphData: {
    nodes: [
      { id: 'in', type: 'userInput', data: { label: 'Question', variables: [{ name: 'topic', type: 'text' }, { name: 'length', type: 'integer' }] } },
      { id: 'draft', type: 'llm', data: { label: 'Write draft', userPrompt: '{{topic}} {{length}} {{topic}}', outputs: [{ name: 'text' }, { name: 'facts', type: 'array' }] } },
      { id: 'review', type: 'llm', data: { description: '{{nothing}}', userPrompt: '{{Write draft.text}} {{draft__text}} {{draft.facts[0].name}} {{visit.reason}} {{extra.deep}} {{plain?}} {{draft.more}}' } },
      { id: 'choose', type: 'condition', data: { conditions: [{ rules: { items: [{ variable: 'draft.text', value: '{{length}}' }] } }] } },
      { id: 'gather', type: 'aggregate', data: { variables: ['draft.text', '{{topic}}'] } },
      { id: 'last', type: 'llm', data: {} },
    ],
    edges: [{ id: 'e', source: 'draft', target: 'last' }],
  },
})
const fields = (id: string) => testFields(drawn, TYPES, drawn.nodes.get(id) ?? { id, type: 'llm', data: {} }).map(({ key, type: kind }) => `${key} ${kind}`)

describe('the fields of a test', () => {
  it('are the variables that the node names, each once, with their types', () => {
    expect(fields('draft')).toEqual(['topic text', 'length integer'])
    expect(fields('choose')).toEqual(['draft__text text', 'length integer'])
    expect(fields('gather')).toEqual(['draft__text text', 'topic text'])
  })
  it('are the same key for every spelling, and take JSON where a part of a value is named', () => {
    expect(fields('review')).toEqual(['draft__text text', 'draft__facts json', 'extra json', 'plain text', 'draft__more text'])
  })
  it('are what leads to the node when it names nothing, and an input node’s own variables', () => {
    expect(fields('last')).toEqual(['draft__text text', 'draft__facts json'])
    expect(fields('in')).toEqual(['topic text', 'length integer'])
  })
})

describe('what a node of a DAG run was given', () => {
  it('becomes keys of a workspace, and what is typed stands in its place', () => {
    const inputs = { 'Write draft.text': 'Dear Ada', 'draft.facts[0].name': 'x', 'topic': 'letters' }
    expect(variablesOf(inputs, drawn, TYPES)).toEqual({ 'draft__text': 'Dear Ada', 'draft.facts[0].name': 'x', 'topic': 'letters' })
    expect(variablesOf(inputs, drawn, TYPES, { draft__facts: [], topic: 'poems' })).toEqual({ draft__text: 'Dear Ada', draft__facts: [], topic: 'poems' })
  })
})
