/** The form of a run: which values its inputs take, and what a person typed made into values. Pure. */
import { readNumber, tryJson, writeJson } from '@/api/json'
import type { GraphData, GraphNode } from '@/api/types'

export type InputType = 'string' | 'text' | 'number' | 'integer' | 'boolean' | 'select' | 'json'
const TYPES: readonly string[] = ['string', 'text', 'number', 'integer', 'boolean', 'select', 'json']

export interface InputField {
  readonly name: string
  readonly label: string
  readonly description: string
  readonly type: InputType
  readonly required: boolean
  readonly options: readonly string[]
  readonly initial: unknown
}

/** Inputs that are asked for at the start, and those of later nodes, which ask by themselves when they are not given. */
export interface InputForm { readonly start: readonly InputField[], readonly later: readonly InputField[] }

export function inputForm(graph: GraphData, mode: 'DAG' | 'AGENTIC'): InputForm {
  const asking = graph.nodes.filter(node => node.type === 'userInput')
  const entered = new Set(graph.edges.map(edge => edge.target))
  const first = mode === 'AGENTIC' ? asking.slice(0, 1) : asking.filter(node => !entered.has(node.id))
  const start = unique(first.flatMap(fieldsOf))
  const known = new Set(start.map(field => field.name))
  const later = unique(asking.filter(node => !first.includes(node)).flatMap(fieldsOf)).filter(field => !known.has(field.name))
  return { start, later: later.map(field => ({ ...field, required: false, initial: undefined })) }
}

function unique(fields: InputField[]): InputField[] {
  return [...new Map(fields.map(field => [field.name, field])).values()]
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)
const text = (value: unknown) => (typeof value === 'string' ? value : '')

function fieldsOf(node: GraphNode): InputField[] {
  const variables = node.data['variables']
  if (!Array.isArray(variables)) return []
  return variables.filter(isRecord).filter(variable => text(variable['name']) !== '').map(fieldOf)
}

/** One variable as a `userInput` node declares it, or as a form that a person is asked to fill in carries it. */
export function fieldOf(variable: Readonly<Record<string, unknown>>): InputField {
  const name = text(variable['name'])
  const options = Array.isArray(variable['options']) ? variable['options'].map(option => (isRecord(option) ? text(option['value']) || text(option['label']) : String(option))) : []
  const type = TYPES.includes(text(variable['type'])) ? text(variable['type']) as InputType : 'string'
  return { name, label: text(variable['label']) || name, description: text(variable['description']), type, required: variable['required'] === true, options, initial: variable['default'] }
}

/** What stands in the form's controls: text everywhere, but true or false in a check box. */
export type Typed = Record<string, string | boolean>

export function typed(fields: readonly InputField[], values: Readonly<Record<string, unknown>>): Typed {
  return Object.fromEntries(fields.map((field) => {
    const value = field.name in values ? values[field.name] : field.initial
    if (field.type === 'boolean') return [field.name, value === true || value === 'true']
    if (value === undefined || value === null) return [field.name, '']
    if (typeof value === 'string') return [field.name, value]
    return [field.name, writeJson(value, field.type === 'json' ? 2 : undefined)]
  }))
}

export type InputFault = 'required' | 'number' | 'integer' | 'json'
export interface ReadInputs { readonly inputs: Record<string, unknown>, readonly faults: ReadonlyMap<string, InputFault> }

/** The inputs of the run. What is empty and need not be given is left out. */
export function readTyped(fields: readonly InputField[], given: Typed): ReadInputs {
  const inputs: Record<string, unknown> = {}
  const faults = new Map<string, InputFault>()
  for (const field of fields) {
    const value = given[field.name] ?? ''
    if (typeof value === 'boolean') { inputs[field.name] = value; continue }
    if (value.trim() === '') {
      if (field.required) faults.set(field.name, 'required')
      continue
    }
    const read = readText(field.type, value)
    if ('fault' in read) faults.set(field.name, read.fault)
    else inputs[field.name] = read.value
  }
  return { inputs, faults }
}

function readText(type: InputType, value: string): { value: unknown } | { fault: InputFault } {
  switch (type) {
    case 'number': return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value.trim()) ? { value: readNumber(value) } : { fault: 'number' }
    case 'integer': return /^[+-]?\d+$/.test(value.trim()) ? { value: readNumber(value) } : { fault: 'integer' }
    case 'json': return tryJson(value) ?? { fault: 'json' }
    default: return { value }
  }
}

/** Inputs written as one JSON object; undefined where it is none. */
export function readObject(value: string): Record<string, unknown> | undefined {
  const read = tryJson(value.trim() === '' ? '{}' : value)
  return isRecord(read?.value) ? read.value : undefined
}
