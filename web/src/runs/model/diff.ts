/**
 * What changed between two texts, and between two values. Pure.
 *
 * Texts are compared word by word (Chinese by word where the browser knows words, else by sign), by an exact
 * shortest edit up to a bound of work; beyond it whole lines are compared, which is coarser and never slow.
 */
import { writeJson } from '@/api/json'

export interface Piece { readonly text: string, readonly kind: 'same' | 'gone' | 'new' }

const segmenter = typeof Intl !== 'undefined' && 'Segmenter' in Intl ? new Intl.Segmenter(undefined, { granularity: 'word' }) : undefined
const HAN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u

export function words(text: string): string[] {
  if (HAN.test(text) && segmenter && text.length < 20_000) return [...segmenter.segment(text)].map(part => part.segment)
  return text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? []
}

const lines = (text: string) => text.match(/[^\n]*\n|[^\n]+$/g) ?? []
const MOST_EDITS = 600

/** The two texts as pieces in order: `gone` stands in the first alone, `new` in the second alone. */
export function diffTexts(before: string, after: string): Piece[] {
  if (before === after) return before === '' ? [] : [{ text: before, kind: 'same' }]
  const byWord = edits(words(before), words(after))
  const found = byWord ?? edits(lines(before), lines(after)) ?? [{ text: before, kind: 'gone' as const }, { text: after, kind: 'new' as const }]
  return joined(found)
}

/** Pieces of one side: the first text without what is new, or the second without what is gone. */
export function sideOf(pieces: readonly Piece[], side: 'before' | 'after'): Piece[] {
  return pieces.filter(piece => piece.kind !== (side === 'before' ? 'new' : 'gone'))
}

/** Myers' shortest edit; undefined where the two differ by more than the bound. */
function edits(a: readonly string[], b: readonly string[]): Piece[] | undefined {
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1
  let tail = 0
  while (tail < a.length - start && tail < b.length - start && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1
  const middle = shortest(a.slice(start, a.length - tail), b.slice(start, b.length - tail))
  return middle && [...same(a.slice(0, start)), ...middle, ...same(a.slice(a.length - tail))]
}

const same = (tokens: readonly string[]): Piece[] => (tokens.length > 0 ? [{ text: tokens.join(''), kind: 'same' }] : [])

function shortest(a: readonly string[], b: readonly string[]): Piece[] | undefined {
  const [n, m] = [a.length, b.length]
  let front = new Map<number, number>([[1, 0]])
  const trace: Map<number, number>[] = []
  for (let d = 0; d <= Math.min(n + m, MOST_EDITS); d += 1) {
    trace.push(new Map(front))
    const next = new Map(front)
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (front.get(k - 1) ?? -1) < (front.get(k + 1) ?? -1))
      let x = down ? front.get(k + 1) ?? 0 : (front.get(k - 1) ?? 0) + 1
      while (x < n && x - k < m && a[x] === b[x - k]) x += 1
      next.set(k, x)
      front.set(k, x)
      if (x >= n && x - k >= m) return walkBack(a, b, trace)
    }
    front = next
  }
  return undefined
}

function walkBack(a: readonly string[], b: readonly string[], trace: readonly Map<number, number>[]): Piece[] {
  const pieces: Piece[] = []
  let [x, y] = [a.length, b.length]
  for (let d = trace.length - 1; d >= 0; d -= 1) {
    const front = trace[d] as Map<number, number>
    const k = x - y
    const down = k === -d || (k !== d && (front.get(k - 1) ?? -1) < (front.get(k + 1) ?? -1))
    const fromK = down ? k + 1 : k - 1
    const fromX = d === 0 ? 0 : front.get(fromK) ?? 0
    const fromY = d === 0 ? 0 : fromX - fromK
    while (x > fromX && y > fromY) {
      x -= 1
      y -= 1
      pieces.push({ text: a[x] as string, kind: 'same' })
    }
    if (d === 0) break
    if (down) {
      y -= 1
      pieces.push({ text: b[y] as string, kind: 'new' })
    } else {
      x -= 1
      pieces.push({ text: a[x] as string, kind: 'gone' })
    }
  }
  return pieces.reverse()
}

/** Neighbours of a kind become one piece; within a change what is gone stands before what is new, and lone blanks go with it. */
function joined(pieces: readonly Piece[]): Piece[] {
  const found: Piece[] = []
  let gone = ''
  let fresh = ''
  const close = () => {
    if (gone !== '') found.push({ text: gone, kind: 'gone' })
    if (fresh !== '') found.push({ text: fresh, kind: 'new' })
    gone = fresh = ''
  }
  for (const piece of pieces) {
    if (piece.kind === 'gone') gone += piece.text
    else if (piece.kind === 'new') fresh += piece.text
    else {
      close()
      const last = found.at(-1)
      if (last?.kind === 'same') found[found.length - 1] = { text: last.text + piece.text, kind: 'same' }
      else found.push(piece)
    }
  }
  close()
  return found
}

/** A long stretch of what stayed the same, cut to its ends. */
export interface Gap { readonly hidden: number }

/** Pieces with long unchanged stretches cut to `around` signs at each side of a change. */
export function hunks(pieces: readonly Piece[], around = 120): (Piece | Gap)[] {
  return pieces.flatMap((piece, index): (Piece | Gap)[] => {
    if (piece.kind !== 'same' || piece.text.length <= 2 * around + 60) return [piece]
    const head = index === 0 ? '' : piece.text.slice(0, around)
    const tail = index === pieces.length - 1 ? '' : piece.text.slice(-around)
    return [{ text: head, kind: 'same' as const }, { hidden: piece.text.length - head.length - tail.length }, { text: tail, kind: 'same' as const }].filter(part => 'hidden' in part || part.text !== '')
  })
}

/** One place within a value, and what stands there on either side. A side without it is undefined. */
export interface PathChange { readonly path: string, readonly before?: unknown, readonly after?: unknown }

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)
const MOST_CHANGES = 200

/** What differs within two structured values, by path, and how many places are the same. */
export function diffValues(before: unknown, after: unknown): { changes: PathChange[], same: number } {
  const changes: PathChange[] = []
  let equal = 0
  const compare = (path: string, a: unknown, b: unknown) => {
    if (changes.length >= MOST_CHANGES) return
    if (isRecord(a) && isRecord(b)) {
      for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) compareAt(path === '' ? key : `${path}.${key}`, a, b, key)
    } else if (Array.isArray(a) && Array.isArray(b)) {
      for (let index = 0; index < Math.max(a.length, b.length); index += 1) compareAt(`${path}[${index}]`, a, b, index)
    } else if (writeJson(a) === writeJson(b)) {
      equal += 1
    } else {
      changes.push({ path, before: a, after: b })
    }
  }
  const compareAt = (path: string, a: object, b: object, key: string | number) => {
    const [left, right] = [a as Record<string | number, unknown>, b as Record<string | number, unknown>]
    if (!Object.hasOwn(left, key)) changes.push({ path, after: right[key] })
    else if (!Object.hasOwn(right, key)) changes.push({ path, before: left[key] })
    else compare(path, left[key], right[key])
  }
  compare('', before, after)
  return { changes, same: equal }
}
