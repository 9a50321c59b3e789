import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GraphNode, NodeType } from '@/api/types'
import { clipboardText, copyOf, paste, readClipboard } from './clipboard'
import { connect, insertOnEdge, moveNodes, putNode, remove, reorder, setBranches, setData, setHead } from './commands'
import { refusalOf, type Types } from './connecting'
import { openDocument, workflowOf, type GraphDocument } from './document'
import { editBetween, openHistory, perform, redo, undo, closeStep, type History } from './history'
import { uniqueLabel } from './naming'

const node = (id: string, type = 'llm', data: Record<string, unknown> = {}, x = 0): GraphNode => ({ id, type, position: { x, y: 0 }, data })
const edge = (source: string, target: string, sourceHandle = 'output') => ({ id: `e-${source}-${sourceHandle}-${target}`, source, target, sourceHandle })
const drawing = (nodes: GraphNode[], edges: ReturnType<typeof edge>[], head: Record<string, unknown> = {}) =>
  openDocument({ id: 'w', revision: 3, createdAt: '', updatedAt: '', name: 'Desk', mode: 'DAG', ...head, graphData: { nodes, edges } })

const TYPES: Types = new Map([
  ['userInput', 'input', {}], ['llm', 'model', {}], ['output', 'output', {}],
  ['condition', 'logic', { conditions: { 'x-editor': 'conditions' } }], ['note', 'drawing', {}],
].map(([type, category, properties]) => [type, { type, category, runs: type !== 'note', configSchema: { properties }, title: {}, summary: {}, handles: [], icon: '' } as unknown as NodeType] as [string, NodeType]))

const severity = () => drawing(
  [node('in', 'userInput'), node('c', 'condition', { conditions: [{ type: 'IF', expression: 'x' }, { type: 'ELIF', expression: 'y' }] }), node('a'), node('b'), node('d'), node('out', 'output')],
  [edge('in', 'c'), edge('c', 'a', 'branch-0'), edge('c', 'b', 'branch-1'), edge('c', 'd', 'branch-2'), edge('a', 'out'), edge('b', 'out'), edge('d', 'out')],
)
const done = (history: History, change: (document: GraphDocument) => GraphDocument, mergeKey?: string) => {
  const edit = editBetween(history.document, change(history.document), { key: 'test' }, mergeKey)
  return edit ? perform(history, edit) : history
}
const handlesTo = (document: GraphDocument) => Object.fromEntries([...document.edges.values()].filter(one => one.source === 'c').map(one => [one.target, one.sourceHandle]))

describe('a document', () => {
  it('is saved as it was opened, with keys that nobody knows', () => {
    const graphData = { nodes: [{ ...node('a'), colour: 'red' }, { id: 7 }, node('a', 'twice')], edges: [edge('a', 'gone')], viewport: { zoom: 2 } }
    const document = openDocument({ id: 'w', revision: 1, createdAt: 'x', updatedAt: 'y', name: 'N', team: 'blue', graphData })
    expect(workflowOf(document)).toEqual({ name: 'N', team: 'blue', graphData: { ...graphData, nodes: [graphData.nodes[0], graphData.nodes[1], graphData.nodes[2]] } })
  })
  it('is frozen, so that nothing changes it behind the history', () => {
    const document = severity()
    expect(() => { (document.nodes.get('a') as { type: string }).type = 'x' }).toThrow()
  })
})

describe('undo', () => {
  it('brings back deleted nodes with their data and all their edges, in one step', () => {
    const first = severity()
    const deleted = done(openHistory(first), document => remove(document, new Set(['c', 'a'])))
    expect(deleted.past).toHaveLength(1)
    expect([...deleted.document.edges.values()].some(one => [one.source, one.target].includes('c'))).toBe(false)
    expect(workflowOf(undo(deleted).document)).toEqual(workflowOf(first))
    expect(workflowOf(redo(undo(deleted)).document)).toEqual(workflowOf(deleted.document))
  })
  it('does nothing before the document that was opened', () => {
    const history = openHistory(severity())
    expect(undo(history)).toBe(history)
  })
  it('takes typing back by pauses', () => {
    let history = openHistory(severity())
    for (const text of ['P', 'PR', 'PRO']) history = done(history, document => setData(document, 'a', { userPrompt: text }), 'a userPrompt')
    history = done(closeStep(history), document => setData(document, 'a', { userPrompt: 'PROMPT' }), 'a userPrompt')
    expect(history.past).toHaveLength(2)
    expect(undo(history).document.nodes.get('a')?.data['userPrompt']).toBe('PRO')
    expect(undo(undo(history)).document.nodes.get('a')?.data).toEqual({})
  })
  it('covers the workflow itself, and canvas order', () => {
    const first = severity()
    const changed = done(done(openHistory(first), document => setHead(document, { mode: 'AGENTIC' })), document => reorder(document, 'a', -1))
    expect([...changed.document.nodes.keys()].indexOf('a')).toBe(1)
    expect(workflowOf(undo(undo(changed)).document)).toEqual(workflowOf(first))
  })
  it('of everything is the opened document, and redo of everything the last one', () => {
    type Step = (document: GraphDocument) => GraphDocument
    const pick = (document: GraphDocument, n: number) => [...document.nodes.keys()][n % Math.max(document.nodes.size, 1)] ?? ''
    const steps: fc.Arbitrary<Step> = fc.oneof(
      fc.nat(20).map((n): Step => document => remove(document, new Set([pick(document, n), pick(document, n + 1)]))),
      fc.nat(20).map((n): Step => document => paste(document, copyOf(document, new Set([pick(document, n), pick(document, n + 2)]))).document),
      fc.tuple(fc.nat(20), fc.string()).map(([n, text]): Step => document => setData(document, pick(document, n), { userPrompt: text })),
      fc.tuple(fc.nat(20), fc.integer({ min: -400, max: 400 })).map(([n, x]): Step => document => moveNodes(document, new Map([[pick(document, n), { x, y: x }]]))),
      fc.tuple(fc.nat(20), fc.nat(20)).map(([n, m]): Step => document => (document.nodes.size < 2 ? document : connect(document, { source: pick(document, n), target: pick(document, m) }))),
      fc.nat(20).map((n): Step => document => reorder(document, pick(document, n), 1)),
      fc.tuple(fc.nat(20), fc.nat(20)).map(([n, m]): Step => (document) => {
        const id = [...document.edges.keys()][n % Math.max(document.edges.size, 1)]
        return id === undefined ? document : insertOnEdge(document, id, pick(document, m), 'output')
      }),
      fc.string().map((name): Step => document => setHead(document, { name })),
    )
    fc.assert(fc.property(fc.array(fc.tuple(steps, fc.boolean()), { maxLength: 25 }), (list) => {
      const first = severity()
      let history = openHistory(first)
      for (const [step, merges] of list) history = done(history, step, merges ? 'same' : undefined)
      const last = workflowOf(history.document)
      const count = history.past.length
      for (let n = 0; n < count; n += 1) history = undo(history)
      expect(JSON.stringify(workflowOf(history.document))).toBe(JSON.stringify(workflowOf(first)))
      for (let n = 0; n < count; n += 1) history = redo(history)
      expect(workflowOf(history.document)).toEqual(last)
      expect(history.document.nodes.size).toBe([...new Set(history.document.nodes.keys())].length)
    }), { numRuns: 60 })
  })
})

describe('pasted nodes', () => {
  const chain = () => drawing(
    [node('in', 'userInput'), node('a', 'llm', { label: 'Draft', userPrompt: 'A {{q}}' }), node('b', 'llm', { userPrompt: 'B {{a__text}} {{ a.text }} {{{a.text?}}} {{in.q}} {{ab.text}}' }, 260), node('out', 'output')],
    [edge('in', 'a'), edge('a', 'b'), edge('b', 'out')],
  )
  it('are new, linked among themselves, and name each other', () => {
    const first = chain()
    const text = clipboardText(copyOf(first, new Set(['a', 'b'])))
    const copied = readClipboard(text)
    if (!copied) throw new Error('unread')
    const once = paste(first, copied)
    const twice = paste(once.document, copied)
    const [a1 = '', b1 = ''] = once.nodeIds
    expect(twice.document.nodes.size).toBe(8)
    expect(twice.document.nodes.get(b1)?.data['userPrompt']).toBe(`B {{${a1}__text}} {{ ${a1}.text }} {{{${a1}.text?}}} {{in.q}} {{ab.text}}`)
    const added = [...twice.document.edges.values()].filter(one => !first.edges.has(one.id))
    expect(added.map(one => [one.source, one.target])).toEqual([[a1, b1], twice.nodeIds])
    const places = [...twice.document.nodes.values()].filter(one => one.id !== 'in' && one.id !== 'out').map(one => `${one.position?.x} ${one.position?.y}`)
    expect(new Set(places).size).toBe(places.length)
    expect(twice.document.nodes.get('a')).toBe(first.nodes.get('a'))
  })
  it('have labels of their own', () => {
    const first = chain()
    const once = paste(first, copyOf(first, new Set(['a'])))
    expect(once.document.nodes.get(once.nodeIds[0] ?? '')?.data['label']).toBe('Draft 2')
    expect(uniqueLabel('Draft 2', once.document.nodes.values())).toBe('Draft 3')
  })
  it('take references in rules and lists along', () => {
    const first = drawing([node('a'), node('c', 'condition', { conditions: [{ type: 'IF', rules: { items: [{ variable: 'a.text', operator: 'eq', value: 'a.text' }] } }] }), node('g', 'aggregate', { variables: ['a.text', '{{a.text}}'] })], [])
    const { document, nodeIds: [a = '', c = '', g = ''] } = paste(first, copyOf(first, new Set(['a', 'c', 'g'])))
    expect(document.nodes.get(c)?.data['conditions']).toEqual([{ type: 'IF', rules: { items: [{ variable: `${a}.text`, operator: 'eq', value: 'a.text' }] } }])
    expect(document.nodes.get(g)?.data['variables']).toEqual([`${a}.text`, `{{${a}.text}}`])
  })
  it('are not read from other text', () => {
    expect(readClipboard('hello')).toBeUndefined()
    expect(readClipboard('{"nodes": [')).toBeUndefined()
    expect(readClipboard('{"a": 1}')).toBeUndefined()
  })
})

describe('branches of a condition', () => {
  const branches = (document: GraphDocument) => document.nodes.get('c')?.data['conditions'] as Record<string, unknown>[]
  it('keep their edges when one is inserted before them, and ELSE stays ELSE', () => {
    const first = severity()
    const [one = {}, two = {}] = branches(first)
    const next = setBranches(first, 'c', 'conditions', [{ expression: 'new' }, one, two], [undefined, 0, 1])
    expect(handlesTo(next)).toEqual({ a: 'branch-1', b: 'branch-2', d: 'branch-3' })
    expect(branches(next).map(branch => branch['type'])).toEqual(['IF', 'ELIF', 'ELIF'])
  })
  it('keep their edges when they change places', () => {
    const first = severity()
    const [one = {}, two = {}] = branches(first)
    expect(handlesTo(setBranches(first, 'c', 'conditions', [two, one], [1, 0]))).toEqual({ a: 'branch-1', b: 'branch-0', d: 'branch-2' })
  })
  it('lose their edges with themselves, in one step that undo takes back', () => {
    const first = severity()
    const history = done(openHistory(first), document => setBranches(document, 'c', 'conditions', [branches(document)[1] ?? {}], [1]))
    expect(handlesTo(history.document)).toEqual({ b: 'branch-0', d: 'branch-1' })
    expect(workflowOf(undo(history).document)).toEqual(workflowOf(first))
  })
  it('leave an IF to draw from when the last is gone', () => {
    expect(handlesTo(setBranches(severity(), 'c', 'conditions', [], []))).toEqual({ d: 'branch-1' })
  })
})

describe('an edge', () => {
  const why = (source: string, target: string, sourceHandle = 'output', head = {}) =>
    refusalOf(drawing([node('in', 'userInput'), node('a'), node('b'), node('c', 'condition'), node('n', 'note'), node('out', 'output')], [edge('in', 'a'), edge('a', 'b')], head), TYPES, { source, sourceHandle, target })
  it('is refused with its reason', () => {
    expect(why('out', 'a')).toBe('noWayOut')
    expect(why('a', 'n')).toBe('noWayIn')
    expect(why('a', 'b')).toBe('exists')
    expect(why('a', 'a')).toBe('self')
    expect(why('b', 'in')).toBe('cycle')
    expect(why('c', 'a', 'branch-7')).toBe('handle')
    expect(why('a', 'gone')).toBe('missing')
  })
  it('may lead back where the planner decides', () => {
    expect(why('b', 'in', 'output', { mode: 'AGENTIC' })).toBeUndefined()
    expect(why('a', 'a', 'output', { mode: 'agentic' })).toBeUndefined()
    expect(why('c', 'a', 'branch-1')).toBeUndefined()
  })
})

describe('a node', () => {
  it('put into an edge takes what led there and leads on', () => {
    const first = putNode(drawing([node('a'), node('b')], [edge('a', 'b')]), node('m'))
    const next = insertOnEdge(first, 'e-a-output-b', 'm', 'output')
    expect([...next.edges.values()].map(one => [one.source, one.target])).toEqual([['a', 'm'], ['m', 'b']])
  })
})
