/** Values of many megabytes: how big they are, their first signs, and their tree as rows, without writing them out. Pure. */
import { writeJson } from '@/api/json'
import { isBranch } from './jsonTree'

/** From this many signs on a value is read and written by a worker, and drawn in windows. */
export const BIG = 256 * 1024

/** About how many signs a value takes as JSON; counting ends at the limit. */
export function signsOf(value: unknown, limit: number): number {
  let signs = 0
  const count = (inner: unknown) => {
    if (signs >= limit) return
    if (typeof inner === 'string') signs += inner.length + 2
    else if (!isBranch(inner)) signs += 5
    else {
      for (const [key, item] of Object.entries(inner)) {
        if (signs >= limit) return
        signs += Array.isArray(inner) ? 1 : key.length + 4
        count(item)
      }
    }
  }
  count(value)
  return Math.min(signs, limit)
}

/** A value in one line of JSON, cut after about so many signs: what lies behind the cut is not looked at. */
export function beginningOf(value: unknown, limit: number): string {
  let text = ''
  const write = (inner: unknown) => {
    if (text.length >= limit) return
    if (typeof inner === 'string') text += writeJson(inner.slice(0, limit))
    else if (!isBranch(inner)) text += writeJson(inner) || 'null'
    else {
      const isList = Array.isArray(inner)
      text += isList ? '[' : '{'
      let first = true
      for (const key in inner) {
        if (text.length >= limit) return
        if (!first) text += ','
        first = false
        if (!isList) text += `${writeJson(key)}:`
        write((inner as Record<string, unknown>)[key])
      }
      text += isList ? ']' : '}'
    }
  }
  write(value)
  return text
}

export interface FlatRow { readonly path: string, readonly key: string, readonly value: unknown, readonly depth: number }

/** The rows of a tree in which some branches are open, by their path, from top to bottom. */
export function flatRows(value: object, opened: ReadonlySet<string>): FlatRow[] {
  const rows: FlatRow[] = []
  const walk = (branch: object, path: string, depth: number) => {
    const isList = Array.isArray(branch)
    for (const key in branch) {
      const own = isList ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
      const item = (branch as Record<string, unknown>)[key]
      rows.push({ path: own, key, value: item, depth })
      if (isBranch(item) && opened.has(own)) walk(item, own, depth + 1)
    }
  }
  walk(value, '', 0)
  return rows
}
