/**
 * References in texts: `{{ head (.name | [n])* ? }}`. Pure; the same grammar as the engine's.
 *
 * What has not this form is text and stays (JSON, CSS, Jinja); in `{{{name}}}` the inner pair is the reference.
 */

export interface Reference {
  readonly from: number
  readonly to: number
  /** As it stands in the text, braces included. */
  readonly written: string
  /** What stands between the braces, without blanks around it and without `?`. */
  readonly name: string
  /** The head and the names that follow it, up to the first position. */
  readonly names: readonly string[]
  readonly rest: readonly (string | number)[]
  readonly optional: boolean
}

const BRACES = /\{\{([^{}]+)\}\}/g
const NAME = /^[\p{L}\p{M}\p{N}_\-\u200c\u200d]+(?: [\p{L}\p{M}\p{N}_\-\u200c\u200d]+)*$/u
const STEP = /^(?:\.([^.[\]]+)|\[\s*([0-9]{1,9})\s*\]\s*)/

function steps(name: string): (string | number)[] | undefined {
  const head = /^[^.[\]]+/.exec(name)?.[0] ?? ''
  if (!NAME.test(head.trim())) return undefined
  const found: (string | number)[] = [head.trim()]
  for (let left = name.slice(head.length); left !== '';) {
    const step = STEP.exec(left)
    if (!step || found.length === 16) return undefined
    if (step[2] !== undefined) found.push(Number(step[2]))
    else if (step[1] !== undefined && NAME.test(step[1].trim())) found.push(step[1].trim())
    else return undefined
    left = left.slice(step[0].length)
  }
  return found
}

export function readReference(written: string, inner: string, from = 0): Reference | undefined {
  const stripped = inner.trim()
  if (stripped.length > 400) return undefined
  const optional = stripped.endsWith('?')
  const name = (optional ? stripped.slice(0, -1) : stripped).trimEnd()
  const all = steps(name)
  if (!all) return undefined
  const firstPosition = all.findIndex(step => typeof step === 'number')
  const count = firstPosition < 0 ? all.length : firstPosition
  return { from, to: from + written.length, written, name, names: all.slice(0, count) as string[], rest: all.slice(count), optional }
}

export function referencesIn(text: string): Reference[] {
  if (!text.includes('{{')) return []
  return [...text.matchAll(BRACES)].flatMap((match) => {
    const reference = readReference(match[0], match[1] ?? '', match.index)
    return reference ? [reference] : []
  })
}

/** Renames what references name as nodes by id, `{{old.x}}` and `{{old__x}}`; everything else stays to the letter. */
export function renamedReferences(text: string, ids: ReadonlyMap<string, string>): string {
  if (ids.size === 0 || !text.includes('{{')) return text
  let done = 0
  let renamed = ''
  for (const reference of referencesIn(text)) {
    const inner = renamedName(reference.written.slice(2, -2), ids)
    renamed += text.slice(done, reference.from) + (inner === undefined ? reference.written : `{{${inner}}}`)
    done = reference.to
  }
  return renamed + text.slice(done)
}

/** A reference without its braces; undefined where it names none of these nodes. The longest id that fits wins. */
export function renamedName(inner: string, ids: ReadonlyMap<string, string>): string | undefined {
  const lead = inner.length - inner.trimStart().length
  const name = inner.slice(lead)
  let best: string | undefined
  for (const id of ids.keys()) {
    const after = name.slice(id.length)
    if (name.startsWith(id) && (after.startsWith('.') || after.startsWith('__')) && (best === undefined || id.length > best.length)) best = id
  }
  return best === undefined ? undefined : `${inner.slice(0, lead)}${ids.get(best) ?? best}${name.slice(best.length)}`
}

/** The same through every text of a value. */
export function renamedDeep(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return renamedReferences(value, ids)
  if (Array.isArray(value)) return value.map(item => renamedDeep(item, ids))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, renamedDeep(item, ids)]))
}
