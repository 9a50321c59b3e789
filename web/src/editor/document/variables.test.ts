import { describe, expect, it } from 'vitest'
import type { NodeType } from '@/api/types'
import { openDocument } from './document'
import { fieldOfPath, formOf } from './form'
import { referencesIn, renamedReferences } from './references'
import { find, replace } from './search'
import { scopeOf } from './variables'

const type = (name: string, category: string, writes: string[], properties: Record<string, unknown> = {}) =>
  ({ type: name, category, writes, runs: true, icon: '', handles: [], title: {}, summary: {}, configSchema: { properties } }) as unknown as NodeType
const TYPES = new Map([
  type('userInput', 'input', [], { variables: { 'x-editor': 'variables' } }),
  type('llm', 'model', ['text'], { outputs: { 'x-editor': 'outputs' }, outputSchema: { 'x-editor': 'schema' } }),
  type('template', 'data', ['text'], { outputName: { 'x-editor': 'text' } }),
  type('agent', 'agent', []), type('output', 'output', ['result'], { outputs: { 'x-editor': 'outputs' } }),
].map(one => [one.type, one]))

const document = (mode: string) => openDocument({
  name: 'N', mode, graphData: {
    nodes: [
      { id: 'in', type: 'userInput', data: { label: 'Question', variables: [{ name: 'user_query', type: 'string' }] } },
      { id: 'a', type: 'llm', data: { label: 'Write draft', outputs: [{ name: 'title', type: 'string' }] } },
      { id: 'b', type: 'llm', data: { userPrompt: 'x' } },
      { id: 'w', type: 'agent', data: { label: 'Worker' } },
      { id: 'late', type: 'template', data: { label: 'Late', outputName: 'page', failStrategy: 'branch' } },
      { id: 'out', type: 'output', data: {} },
    ],
    edges: [['in', 'a'], ['a', 'b'], ['w', 'b'], ['b', 'late'], ['late', 'out']].map(([source, target]) => ({ id: `${source}${target}`, source, target })),
  },
})
const known = (text: string, mode = 'DAG', nodeId = 'b') => {
  const scope = scopeOf(document(mode), TYPES, nodeId)
  return referencesIn(text).map(reference => scope.knows(reference))
}

describe('references in a text', () => {
  it('are read as the engine reads them', () => {
    const names = (text: string) => referencesIn(text).map(reference => reference.name)
    expect(names('{{a}} {{ a.b }} {{Write draft.text}} {{分析.文本}} {{B.items[0].title}} {{x?}} {{{y}}}')).toEqual(['a', 'a.b', 'Write draft.text', '分析.文本', 'B.items[0].title', 'x', 'y'])
    expect(names('{"a": {"b": 1}} {{ }} {{.Field}} {{a b  c}} {% if %} {{a|upper}} {{a..b}}')).toEqual([])
    expect(referencesIn('{{x?}}')[0]?.optional).toBe(true)
  })
  it('are renamed by whole ids alone', () => {
    expect(renamedReferences('{{a.x}}{{a__y}}{{ab.x}}{{b.a.x}} a.x', new Map([['a', 'z']]))).toBe('{{z.x}}{{z__y}}{{ab.x}}{{b.a.x}} a.x')
    expect(renamedReferences('{{a.x}} {{a__b.x}}', new Map([['a', 'z'], ['a__b', 'q']]))).toBe('{{z.x}} {{q.x}}')
  })
})

describe('what a node may name', () => {
  it('is what its ancestors write, by id, by label, by bare name', () => {
    expect(known('{{user_query}} {{in.user_query}} {{Question.user_query}} {{a.title}} {{a__title}} {{Write draft.title}} {{title}} {{title.words[3]}}')).toEqual(Array(8).fill(true))
    expect(known('{{a.text}}')).toEqual([true])
    expect(known('{{a.nothing}} {{gone.text}} {{nothing}}')).toEqual([false, false, false])
  })
  it('is not what runs later, where edges are obeyed', () => {
    expect(known('{{late.page}}')).toEqual([false])
    expect(known('{{late.page}} {{late.error.code}}', 'AGENTIC')).toEqual([true, true])
  })
  it('is anything that a skill may write, and what a visit is told', () => {
    expect(known('{{Worker.anything}} {{visit.reason}} {{visit.mood}} {{item.name}}')).toEqual([true, true, false, true])
  })
  it('is offered as references that will be found', () => {
    const scope = scopeOf(document('DAG'), TYPES, 'b')
    expect(scope.variables.map(variable => variable.reference)).toEqual(['user_query', 'a.title'])
    expect(referencesIn(scope.variables.map(variable => `{{${variable.reference}}}`).join(' ')).every(scope.knows)).toBe(true)
  })
})

describe('a form', () => {
  const form = formOf(type('llm', 'model', [], {
    label: { 'type': 'string', 'x-editor': 'text' },
    model: { 'anyOf': [{ type: 'string' }, { type: 'null' }], 'x-editor': 'model', 'x-title': { 'en': 'Model', 'zh-CN': '模型' }, 'description': 'Empty means default.', 'x-help': { 'zh-CN': '为空' } },
    temperature: { 'anyOf': [{ type: 'number', minimum: 0, maximum: 2 }, { type: 'null' }], 'x-advanced': true },
    newThing: { 'type': 'object', 'x-editor': 'hologram' },
    failStrategy: { anyOf: [{ enum: ['', 'skip'], type: 'string' }, { type: 'null' }] },
  }), 'zh-CN')
  it('has a control for each field of the schema, in the language of the page', () => {
    expect(form.main.map(field => [field.name, field.control, field.title, field.help])).toEqual([['model', 'model', '模型', '为空'], ['newThing', 'json', 'New thing', '']])
    expect(form.advanced[0]).toMatchObject({ control: 'number', min: 0, max: 2 })
    expect(form.failure[0]).toMatchObject({ control: 'select', options: ['', 'skip'] })
  })
  it('is led to by the path of a fault', () => {
    expect([fieldOfPath('conditions.0.rules'), fieldOfPath('data.userPrompt'), fieldOfPath('variables[2].name'), fieldOfPath(null)]).toEqual(['conditions', 'userPrompt', 'variables', undefined])
  })
})

describe('find and replace', () => {
  const first = openDocument({ name: 'N', graphData: { nodes: [{ id: 'a', type: 'llm', data: { label: 'Draft', userPrompt: 'draft a $& draft', list: [{ text: 'Drafty' }] } }], edges: [] } })
  it('finds words in every text', () => {
    expect(find(first, 'draft').map(match => [match.field, match.count])).toEqual([['label', 1], ['userPrompt', 2], ['list', 1]])
    expect(find(first, 'draft', { matchCase: true, wholeWord: true }).map(match => match.count)).toEqual([2])
    expect(find(first, '')).toEqual([])
  })
  it('replaces them to the letter, all or one', () => {
    expect(replace(first, 'draft', '$1', { matchCase: true }).nodes.get('a')?.data).toEqual({ label: 'Draft', userPrompt: '$1 a $& $1', list: [{ text: 'Drafty' }] })
    const [, , third] = find(first, 'draft')
    expect(replace(first, 'draft', 'x', {}, third).nodes.get('a')?.data).toEqual({ label: 'Draft', userPrompt: 'draft a $& draft', list: [{ text: 'xy' }] })
  })
})
