/**
 * Which variables a node is tried on: those that its own fields name, else what leads to it. Pure.
 *
 * A field stands for one key of the workspace, however a template spells it: by the node's id, by its label, by the bare
 * name. What is named within a value is part of that value, so such a field takes JSON.
 */
import type { GraphNode, NodeType } from '@/api/types'
import { propertiesOf } from '@/canvas/handles'
import type { Types } from './connecting'
import { labelOf, textOf, type GraphDocument } from './document'
import { readReference, referencesIn, type Reference } from './references'
import { VISIT_NAMES, writtenBy } from './variables'

export type TestType = 'text' | 'number' | 'integer' | 'boolean' | 'json'

export interface TestField {
  /** The key in the workspace. */
  readonly key: string
  readonly label: string
  readonly type: TestType
}

/** Texts of these fields are not filled in. */
const NO_TEMPLATES = new Set(['text', 'longText', 'code', 'model', 'skill', 'skills', 'workflow', 'mcpServer', 'mcpServers', 'mcpTool', 'variables', 'schema', 'tools'])

interface Target { readonly key: string, readonly label: string, readonly type: TestType, readonly isWhole: boolean }

function typeOf(written: string | undefined): TestType {
  switch (written) {
    case 'number': case 'integer': case 'boolean': return written
    case 'json': case 'array': case 'object': return 'json'
    default: return 'text'
  }
}

function* referencesOf(value: unknown, isBare: boolean): Generator<Reference> {
  if (typeof value === 'string') {
    const bare = isBare && !value.includes('{{') ? readReference(`{{${value}}}`, value) : undefined
    if (bare) yield bare
    else yield* referencesIn(value)
  } else if (Array.isArray(value)) {
    for (const item of value) yield* referencesOf(item, isBare)
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) yield* referencesOf(item, key === 'variable')
  }
}

function named(node: GraphNode, type: NodeType | undefined): Reference[] {
  const fields = type ? propertiesOf(type) : {}
  return Object.entries(node.data).flatMap(([field, value]) => {
    const editor = fields[field]?.['x-editor']
    if (field === 'label' || (typeof editor === 'string' && NO_TEMPLATES.has(editor))) return []
    return [...referencesOf(value, editor === 'references')]
  })
}

/** Every way to name a variable, and the variable. The first to claim a spelling keeps it. */
function spellings(document: GraphDocument, types: Types): Map<string, Target> {
  const found = new Map<string, Target>()
  const claim = (spelling: string, target: Target) => { if (!found.has(spelling)) found.set(spelling, target) }
  const all = [...document.nodes.values()].flatMap(node => writtenBy(node, types.get(node.type)).map(one => ({ node, one, isInput: types.get(node.type)?.category === 'input' })))
  const targetOf = ({ node, one, isInput }: typeof all[number]): Target => ({
    key: isInput ? one.name : `${node.id}__${one.name}`, label: isInput ? one.name : `${labelOf(node)} · ${one.name}`, type: typeOf(one.type), isWhole: true,
  })
  for (const each of all) for (const join of ['.', '__']) claim(`${each.node.id}${join}${each.one.name}`, targetOf(each))
  for (const each of all) for (const join of ['.', '__']) claim(`${textOf(each.node.data['label']).trim()}${join}${each.one.name}`, targetOf(each))
  for (const each of all.filter(({ isInput }) => isInput)) claim(each.one.name, targetOf(each))
  for (const each of all) claim(each.one.name, targetOf(each))
  return found
}

function targetOf(reference: Reference, document: GraphDocument, known: ReadonlyMap<string, Target>): Target | undefined {
  const { names, rest } = reference
  const [head = '', second] = names
  for (let count = names.length; count > 0; count -= 1) {
    const target = known.get(names.slice(0, count).join('.'))
    if (!target) continue
    const isWhole = count === names.length && rest.length === 0
    return isWhole ? target : { ...target, type: 'json', isWhole }
  }
  if (head === 'visit' && !document.nodes.has('visit') && (VISIT_NAMES as readonly string[]).includes(second ?? '')) return undefined
  const owner = document.nodes.get(head) ?? [...document.nodes.values()].find(node => textOf(node.data['label']).trim() === head)
  const used = owner && second !== undefined ? 2 : 1
  const isWhole = used === names.length && rest.length === 0
  const type = isWhole ? 'text' : 'json'
  return owner && second !== undefined ? { key: `${owner.id}__${second}`, label: `${labelOf(owner)} · ${second}`, type, isWhole } : { key: head, label: head, type, isWhole }
}

function unique(targets: readonly Target[]): TestField[] {
  const fields = new Map<string, TestField>()
  for (const { key, label, type } of targets) {
    const before = fields.get(key)
    fields.set(key, { key, label, type: before?.type === 'json' ? 'json' : type })
  }
  return [...fields.values()]
}

export function testFields(document: GraphDocument, types: Types, node: GraphNode): TestField[] {
  const type = types.get(node.type)
  if (type?.category === 'input') return unique(writtenBy(node, type).map(one => ({ key: one.name, label: one.name, type: typeOf(one.type), isWhole: true })))
  const known = spellings(document, types)
  const own = named(node, type).flatMap(reference => targetOf(reference, document, known) ?? [])
  if (own.length > 0) return unique(own)
  const before = new Set([...document.edges.values()].filter(edge => edge.target === node.id).map(edge => edge.source))
  return unique([...before].flatMap((id) => {
    const source = document.nodes.get(id)
    return source ? writtenBy(source, types.get(source.type)).flatMap(({ name }) => known.get(`${id}.${name}`) ?? []) : []
  }))
}

/** What a node of a DAG run was given, by the names in its templates, as keys of a workspace without those that are given anew. */
export function variablesOf(inputs: Readonly<Record<string, unknown>>, document: GraphDocument, types: Types, given: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const known = spellings(document, types)
  const variables: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(inputs)) {
    const reference = readReference(`{{${name}}}`, name)
    const target = reference && targetOf(reference, document, known)
    if (target && Object.hasOwn(given, target.key)) continue
    variables[target?.isWhole ? target.key : name] = value
  }
  return { ...variables, ...given }
}
