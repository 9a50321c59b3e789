/** The variables that a person edits for a fork: what is typed, and what it says. A text is edited as text, anything else as JSON. Pure. */
import { tryJson, writeJson } from '@/api/json'

export interface Edit { readonly name: string, readonly text: string, readonly isText: boolean, /** Not there before: its name is typed too. */ readonly isNew: boolean }
export type EditFault = 'json' | 'nameless' | 'twice'

export function editOf(name: string, value: unknown): Edit {
  const isText = typeof value === 'string'
  return { name, isText, isNew: false, text: isText ? value : writeJson(value, 2) }
}
export const newEdit: Edit = { name: '', text: '', isText: true, isNew: true }

/** The same value, typed the other way: a text becomes a JSON string and back where it is one. */
export function retyped(edit: Edit): Edit {
  if (edit.isText) return { ...edit, isText: false, text: writeJson(edit.text) }
  const read = tryJson(edit.text)
  return { ...edit, isText: true, text: read && typeof read.value === 'string' ? read.value : edit.text }
}

export interface ReadEdits { readonly variables: Record<string, unknown>, /** By the place of the edit. */ readonly faults: ReadonlyMap<number, EditFault> }

export function readEdits(edits: readonly Edit[], known: ReadonlySet<string>): ReadEdits {
  const variables: Record<string, unknown> = {}
  const faults = new Map<number, EditFault>()
  edits.forEach((edit, index) => {
    const name = edit.name.trim()
    const read = edit.isText ? { value: edit.text } : tryJson(edit.text)
    if (name === '') faults.set(index, 'nameless')
    else if (name in variables || (edit.isNew && known.has(name))) faults.set(index, 'twice')
    else if (!read) faults.set(index, 'json')
    else Object.defineProperty(variables, name, { value: read.value, enumerable: true })
  })
  return { variables, faults }
}
