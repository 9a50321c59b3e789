/**
 * Says in another language what the server said in English. Pure.
 *
 * A catalog maps English templates to templates of the other language. A hole stands for what the server filled in:
 * `{0!r}` for a quoted name, `{0*}` for what may be the server's words again (a cause inside a failure), `{0}` for
 * anything else. Only `{0*}` is translated in turn: names, and what a model or a person wrote, stay as they are.
 * A text that no template fits stays English. Literal parts are searched for one after the other, so that no text,
 * however hostile, takes long; a text that would is left as it is.
 */

export type Catalog = Readonly<Record<string, string>>

interface Template {
  readonly literals: readonly string[]
  readonly holes: readonly ('r' | '*' | '')[]
  /** Whether it says something itself, and is not only signs around holes. */
  readonly hasWords: boolean
  readonly weight: number
  readonly said: readonly (string | number)[]
}

/** A reading of a text, and how many of its characters no template explains. */
interface Reading { readonly said: string, readonly left: number }

/** What Python's repr writes without quotes. */
const UNQUOTED = /^(?:[-\d[({<]|None$|True$|False$)/
const HOLE = /\{(\d+)(!r|\*)?\}/
const MOST_CHARACTERS = 8000
const MOST_STEPS = 20_000
const MOST_SENTENCES = 60
const SENTENCES_OF_A_TEMPLATE = 3
const MOST_DEEP = 4
const REMEMBERED = 1000

/** Returns what turns the server's English into the catalog's language. It never throws. */
export function translator(catalog: Catalog): (text: string) => string {
  const templates = Object.entries(catalog).map(([english, said]) => compile(english, said)).sort((a, b) => b.weight - a.weight)
  const plain = new Map(templates.filter(template => template.holes.length === 0).map(template => [template.literals[0] ?? '', template.said.join('')]))
  const open = templates.filter(template => template.holes.length > 0)
  const byFirst = new Map<string, readonly Template[]>()
  const remembered = new Map<string, string>()

  function candidates(text: string): readonly Template[] {
    const first = text.charAt(0)
    let found = byFirst.get(first)
    if (!found) {
      found = open.filter(({ literals: [literal = ''] }) => literal === '' || literal.startsWith(first))
      byFirst.set(first, found)
    }
    return found
  }

  return (text) => {
    if (text.length > MOST_CHARACTERS || !/[A-Za-z]{2}/.test(text)) return text
    const known = remembered.get(text)
    if (known !== undefined) return known
    const said = new Reader(plain, candidates).read(text.trim()).said
    if (remembered.size >= REMEMBERED) remembered.clear()
    remembered.set(text, said)
    return said
  }
}

/** Reads one text and what is inside it, within a bound of steps. */
class Reader {
  private steps = 0
  private readonly known = new Map<string, Reading>()

  constructor(private readonly plain: ReadonlyMap<string, string>, private readonly candidates: (text: string) => readonly Template[]) {}

  /** The reading that leaves the least of the text in English. */
  read(text: string, depth = 0): Reading {
    const before = this.known.get(text)
    if (before) return before
    const whole = this.readWhole(text, depth)
    const best = whole.left === 0 ? whole : less(whole, this.readSentences(text, depth))
    this.known.set(text, best)
    return best
  }

  private readWhole(text: string, depth: number): Reading {
    const exact = this.plain.get(text)
    if (exact !== undefined) return { said: exact, left: 0 }
    let best = asItIs(text)
    if (depth > MOST_DEEP) return best
    for (const template of this.candidates(text)) {
      if (this.steps > MOST_STEPS || best.left === 0) break
      this.steps += 1
      const parts = match(text, template)
      const found = parts && this.fill(template, parts, depth)
      if (found) best = less(best, found)
    }
    return best
  }

  private fill(template: Template, parts: readonly string[], depth: number): Reading | undefined {
    let left = 0
    let isKnown = template.hasWords
    const filled = parts.map((part, place) => {
      if (template.holes[place] !== '*') {
        if (template.holes[place] === '' && /[.!?] \p{Lu}/u.test(part)) left += part.length
        return part
      }
      const inner = this.read(part, depth + 1)
      left += inner.left
      isKnown ||= inner.said !== part
      return inner.said
    })
    return isKnown ? { said: template.said.map(piece => (typeof piece === 'number' ? filled[piece] ?? '' : piece)).join(''), left } : undefined
  }

  private readSentences(text: string, depth: number): Reading {
    const sentences = splitSentences(text)
    if (sentences.length < 2 || sentences.length > MOST_SENTENCES) return asItIs(text)
    let said = ''
    let left = 0
    for (let at = 0; at < sentences.length;) {
      let next = at + 1
      let best = asItIs(joined(sentences, at, next))
      for (let end = at + 1; end <= Math.min(at + SENTENCES_OF_A_TEMPLATE, sentences.length) && best.left > 0; end += 1) {
        const found = this.readWhole(joined(sentences, at, end), depth)
        if (found.left === 0 || end === at + 1) [best, next] = [found, end]
      }
      said += (/[\p{L}\p{N}.!?;:)]$/u.test(said) && /^[\p{L}\p{N}'"(]/u.test(best.said) ? ' ' : '') + best.said
      if (sentences[next - 1]?.end === ';') said += /\p{Script=Han}/u.test(best.said) ? '；' : '; '
      left += best.left
      at = next
    }
    return { said, left }
  }
}

const asItIs = (text: string): Reading => ({ said: text, left: /[A-Za-z]{2}/.test(text) && !isQuoted(text) ? text.length : 0 })
const less = (a: Reading, b: Reading) => (b.left < a.left || (b.left === a.left && a.left > 0 && b.said !== a.said && /^[\p{ASCII}]*$/u.test(a.said)) ? b : a)

function compile(english: string, said: string): Template {
  const pieces = english.split(HOLE)
  const literals: string[] = []
  const holes: ('r' | '*' | '')[] = []
  for (let at = 0; at < pieces.length; at += 3) {
    literals.push(pieces[at] ?? '')
    if (at + 1 < pieces.length) holes.push(pieces[at + 2] === '!r' ? 'r' : pieces[at + 2] === '*' ? '*' : '')
  }
  const spoken = said.split(/\{(\d+)\}/).map((piece, place) => (place % 2 === 1 ? Number(piece) : piece))
  return { literals, holes, hasWords: literals.some(literal => /[A-Za-z]{2}/.test(literal)), weight: literals.reduce((sum, literal) => sum + literal.length, 0), said: spoken }
}

/** What stands in the holes of a template, if the text is of its form: literal after literal, each at its first place. */
function match(text: string, { literals, holes }: Template): string[] | undefined {
  const [head = ''] = literals
  if (!text.startsWith(head)) return undefined
  const parts: string[] = []
  let at = head.length
  for (const [place, hole] of holes.entries()) {
    const next = literals[place + 1] ?? ''
    const isLast = place === holes.length - 1
    const quoted = endOfQuoted(text, at)
    let end: number
    if (quoted > 0 && text.startsWith(next, quoted) && (!isLast || quoted + next.length === text.length)) end = quoted
    else if (quoted > 0 && hole === 'r') return undefined
    else if (isLast) end = text.endsWith(next) ? text.length - next.length : -1
    else end = text.indexOf(next, at)
    if (end < at || (hole === 'r' && end !== quoted && !UNQUOTED.test(text.slice(at, end)))) return undefined
    parts.push(text.slice(at, end))
    at = end + next.length
  }
  return at === text.length ? parts : undefined
}

/** Where the quoted text that starts here ends, as Python writes it; -1 where none starts or it has no end. */
function endOfQuoted(text: string, start: number): number {
  const quote = text.charAt(start)
  if (quote !== '\'' && quote !== '"') return -1
  for (let at = start + 1; at < text.length; at += 1) {
    if (text.charAt(at) === '\\') at += 1
    else if (text.charAt(at) === quote) return at + 1
  }
  return -1
}

const isQuoted = (text: string) => text !== '' && endOfQuoted(text, 0) === text.length

interface Sentence { readonly text: string, readonly end: '.' | ';' }

/** Parts a text after full stops and at semicolons, not inside of quotes. */
function splitSentences(text: string): Sentence[] {
  const found: Sentence[] = []
  let start = 0
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charAt(at)
    if ((sign === '\'' || sign === '"') && !/[\p{L}\p{N}]/u.test(text.charAt(at - 1))) at = Math.max(at, endOfQuoted(text, at) - 1)
    else if ((sign === '.' || sign === '!' || sign === '?' || sign === ';') && text.charAt(at + 1) === ' ') {
      found.push({ text: text.slice(start, sign === ';' ? at : at + 1), end: sign === ';' ? ';' : '.' })
      start = at + 2
    }
  }
  found.push({ text: text.slice(start), end: '.' })
  return found.filter(sentence => sentence.text !== '')
}

const joined = (sentences: readonly Sentence[], from: number, to: number) => sentences.slice(from, to).map((one, place) => one.text + (place < to - from - 1 ? (one.end === ';' ? '; ' : ' ') : '')).join('')
