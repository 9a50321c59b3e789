/** A value as a tree that is opened level by level. Pure. */
import { tryJson, writeJson } from '@/api/json'

export interface TreeRow { readonly key: string, readonly value: unknown, readonly path: string }

export const ROWS_A_LEVEL = 100
export const LONG_STRING = 2000

export function isBranch(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** The entries of a branch, at most `count`, and how many are left. */
export function rowsOf(value: object, path: string, count: number): { rows: TreeRow[], left: number } {
  const isList = Array.isArray(value)
  const keys = Object.keys(value)
  const rows = keys.slice(0, count).map(key => ({ key, value: (value as Record<string, unknown>)[key], path: isList ? `${path}[${key}]` : path === '' ? key : `${path}.${key}` }))
  return { rows, left: Math.max(0, keys.length - count) }
}

/** A branch in a line: `{ title, pages, … }` or `[ 12 ]`. */
export function outline(value: object): string {
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[ ${value.length} ]`
  const keys = Object.keys(value)
  return keys.length === 0 ? '{}' : `{ ${keys.slice(0, 4).join(', ')}${keys.length > 4 ? ', …' : ''} }`
}

export function leafText(value: unknown): string {
  return typeof value === 'string' ? writeJson(value) : String(value)
}
export function leafKind(value: unknown): 'text' | 'number' | 'word' {
  return typeof value === 'string' ? 'text' : typeof value === 'number' || typeof value === 'bigint' ? 'number' : 'word'
}

/** How a value is best shown. */
export type ValueForm = 'text' | 'markdown' | 'json'

/** A text that is JSON through and through, as a value; undefined where it is none. */
export function jsonIn(text: string): unknown {
  if (!/^\s*[[{]/.test(text) || text.length > 2 * 1024 * 1024) return undefined
  return tryJson(text)?.value
}
