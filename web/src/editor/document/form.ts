/** A node's form, read from its type's JSON schema and the hints in it. Pure. */
import type { NodeType } from '@/api/types'
import { propertiesOf } from '@/canvas/handles'

export const CONTROLS = ['text', 'longText', 'template', 'references', 'model', 'skill', 'skills', 'workflow', 'mcpServer', 'mcpServers', 'mcpTool', 'tools', 'variables', 'values', 'outputs', 'conditions', 'actions', 'schema', 'json', 'code', 'number', 'toggle', 'select'] as const
export type Control = typeof CONTROLS[number]

export interface FormField {
  readonly name: string
  readonly control: Control
  readonly title: string
  readonly help: string
  readonly required: boolean
  readonly options: readonly string[]
  readonly min?: number
  readonly max?: number
  readonly isInteger: boolean
  readonly default: unknown
}

export interface NodeForm {
  readonly main: readonly FormField[]
  readonly advanced: readonly FormField[]
  readonly failure: readonly FormField[]
}

const FAILURE = ['failStrategy', 'defaultOutput', 'maxRetries', 'timeoutSeconds']
/** The label stands in the panel's head. */
const ELSEWHERE = new Set(['label'])

type Schema = Record<string, unknown>
const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value)

/** What a field holds when it holds something: `null` beside it is only "not given". */
function substance(schema: Schema, definitions: Schema): Schema {
  const options = [schema['anyOf'], schema['oneOf']].find(Array.isArray) as unknown[] | undefined
  const chosen = options?.filter(isSchema).find(option => option['type'] !== 'null')
  const inner = chosen ? { ...schema, ...chosen } : schema
  const reference = typeof inner['$ref'] === 'string' ? definitions[inner['$ref'].replace('#/$defs/', '')] : undefined
  return isSchema(reference) ? { ...reference, ...inner } : inner
}

function controlOf(schema: Schema): Control {
  const hint = schema['x-editor']
  const known = CONTROLS.find(control => control === hint)
  if (known) return known
  if (Array.isArray(schema['enum'])) return 'select'
  switch (schema['type']) {
    case 'boolean': return 'toggle'
    case 'integer': case 'number': return 'number'
    case 'string': return 'text'
    default: return 'json'
  }
}

function inLanguage(words: unknown, language: string): string | undefined {
  if (!isSchema(words)) return undefined
  const word = words[language] ?? (language === 'en' ? undefined : words['en'])
  return typeof word === 'string' ? word : undefined
}

/** `maxTokens` as words, where a type gives its field no title. */
const spelledOut = (name: string) => name.replace(/([a-z])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`).replace(/^./, first => first.toUpperCase())

function fieldOf(name: string, schema: Schema, definitions: Schema, required: readonly unknown[], language: string): FormField {
  const inner = substance(schema, definitions)
  const number = (...keys: string[]) => keys.map(key => inner[key]).find(value => typeof value === 'number')
  const [min, max] = [number('minimum', 'exclusiveMinimum'), number('maximum', 'exclusiveMaximum')]
  const description = typeof schema['description'] === 'string' ? schema['description'] : ''
  return {
    name, control: controlOf(inner),
    title: inLanguage(schema['x-title'], language) ?? spelledOut(name),
    help: (isSchema(schema['x-help']) && typeof schema['x-help'][language] === 'string' ? schema['x-help'][language] : undefined) ?? description,
    required: required.includes(name),
    options: Array.isArray(inner['enum']) ? inner['enum'].filter(option => typeof option === 'string') : [],
    ...(typeof min === 'number' && { min }), ...(typeof max === 'number' && { max }),
    isInteger: inner['type'] === 'integer',
    default: schema['default'],
  }
}

/** Whether a person is asked before the node works: below what it will do. */
const ASKS_FIRST = 'approval'

export function formOf(type: NodeType, language: string): NodeForm {
  const definitions = isSchema(type.configSchema['$defs']) ? type.configSchema['$defs'] : {}
  const required = Array.isArray(type.configSchema['required']) ? type.configSchema['required'] : []
  const main: FormField[] = []
  const advanced: FormField[] = []
  const failure: FormField[] = []
  for (const [name, schema] of Object.entries(propertiesOf(type))) {
    if (ELSEWHERE.has(name)) continue
    const field = fieldOf(name, schema, definitions, required, language)
    if (FAILURE.includes(name)) failure.push(field)
    else if (schema['x-advanced'] === true) advanced.push(field)
    else main.push(field)
  }
  main.sort((one, other) => Number(one.name === ASKS_FIRST) - Number(other.name === ASKS_FIRST))
  return type.runs ? { main, advanced, failure } : { main: main.filter(field => field.name === 'text'), advanced: [], failure: [] }
}

/** Which field of the form a fault's path leads to: `conditions.0.rules.items` is in `conditions`. */
export function fieldOfPath(path: string | null | undefined): string | undefined {
  return path?.replace(/^data\./, '').split(/[.[]/, 1)[0] || undefined
}
