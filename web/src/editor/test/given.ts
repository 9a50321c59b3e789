/** What a person typed for a test, made into variables. Pure. */
import type { TestField } from '../document/testInputs'
import { readTyped, type InputFault, type InputField } from '@/runs/model/runForm'
import type { ExtraRow } from './trials'

/** The control of a variable. A choice of yes or no can be left open, so that the visit's own value counts. */
export function controlOf(field: TestField, description = ''): InputField {
  const isChoice = field.type === 'boolean'
  return { name: field.key, label: field.label, description, required: false, initial: undefined, type: isChoice ? 'select' : field.type as Exclude<TestField['type'], 'boolean'>, options: isChoice ? ['true', 'false'] : [] }
}

export interface Given { readonly variables: Record<string, unknown>, readonly faults: ReadonlyMap<string, InputFault> }

export function givenBy(fields: readonly TestField[], typed: Readonly<Record<string, string>>, extra: readonly ExtraRow[]): Given {
  const rows = extra.filter(row => row.name.trim() !== '').map(row => ({ key: row.name.trim(), label: row.name, type: row.type, value: row.value }))
  const own = readTyped(fields.map(field => controlOf(field)), typed)
  const more = readTyped(rows.map(row => controlOf(row)), Object.fromEntries(rows.map(row => [row.key, row.value])))
  const variables: Record<string, unknown> = { ...own.inputs, ...more.inputs }
  for (const field of fields) if (field.type === 'boolean' && field.key in own.inputs) variables[field.key] = own.inputs[field.key] === 'true'
  return { variables, faults: new Map([...own.faults, ...more.faults]) }
}
