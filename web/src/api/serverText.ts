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
  /** Whether it begins with words, and not with a hole. */
  readonly begins: boolean
  readonly weight: number
  readonly said: readonly (string | number)[]
}

/** A reading of a text: whether a template fits, and how many characters of words are left that none explains. */
interface Reading { readonly said: string, readonly left: number, readonly fits: boolean }

/** What Python's repr writes without quotes. */
const UNQUOTED = /^(?:[-\d[({<]|None$|True$|False$)/
const HOLE = /\{(\d+)(!r|\*)?\}/
const MOST_CHARACTERS = 4000
/** Characters that are looked at for one text, each part of it counted whenever it is read. */
const MOST_READ = 300_000
const MOST_SENTENCES = 60
const SENTENCES_OF_A_TEMPLATE = 3
/** Runs may stand eight deep in one another, and each says of its node what failed. */
const MOST_DEEP = 24
const REMEMBERED = 1000

/** Returns what turns the server's English into the catalog's language. It never throws. */
export function translator(catalog: Catalog): (text: string) => string {
  const templates = Object.entries(catalog).map(([english, said]) => compile(english, said)).sort((a, b) => Number(b.begins) - Number(a.begins) || b.weight - a.weight)
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

/** Reads one text and what is inside it, within a bound. */
class Reader {
  private characters = 0
  private readonly known = new Map<string, Reading>()

  constructor(private readonly plain: ReadonlyMap<string, string>, private readonly candidates: (text: string) => readonly Template[]) {}

  /**
   * Several sentences of ours are read one by one; else the text as a whole, since what a person or a model wrote may
   * stand in it and have sentences of its own; else those of its sentences that are known.
   */
  read(text: string, depth = 0): Reading {
    const before = this.known.get(text)
    if (before) return before
    const sentences = this.plain.has(text) ? undefined : this.readSentences(text, depth)
    const whole = sentences?.isWhole ? undefined : this.readWhole(text, depth)
    const best = whole && sentences ? better(whole, sentences) : whole ?? sentences ?? asItIs(text)
    this.known.set(text, best)
    return best
  }

  private readWhole(text: string, depth: number): Reading {
    const exact = this.plain.get(text)
    if (exact !== undefined) return { said: exact, left: 0, fits: true }
    let best = asItIs(text)
    let begins = false
    this.characters += text.length
    if (depth > MOST_DEEP) return best
    for (const template of this.candidates(text)) {
      if (this.characters > MOST_READ || isClear(best)) break
      for (const parts of readings(text, template)) {
        const found = this.fill(template, parts, depth)
        // What begins with words of ours is theirs: signs that fit everything only count where they leave nothing.
        if (found && (template.begins || !begins || isClear(found))) best = better(best, found)
        begins ||= found !== undefined && template.begins
        if (found?.left === 0) break
      }
    }
    return best
  }

  private fill(template: Template, parts: readonly string[], depth: number): Reading | undefined {
    let left = 0
    let fits = template.hasWords
    // After words of ours anything may stand; a text that begins otherwise is not ours for having an "of" in it.
    if (!template.begins && parts.some((part, place) => template.holes[place] === '' && isForeign(part))) return undefined
    const filled = parts.map((part, place) => {
      if (template.holes[place] !== '*') return part
      const inner = this.read(part, depth + 1)
      left += inner.left
      fits ||= inner.fits
      return inner.said
    })
    return fits ? { said: template.said.map(piece => (typeof piece === 'number' ? filled[piece] ?? '' : piece)).join(''), left, fits } : undefined
  }

  private readSentences(text: string, depth: number): Reading & { isWhole: boolean } | undefined {
    const sentences = splitSentences(text)
    if (sentences.length < 2 || sentences.length > MOST_SENTENCES) return undefined
    let said = ''
    let left = 0
    const read: Reading[] = []
    for (let at = 0; at < sentences.length;) {
      let next = at + 1
      let best = this.readWhole(joined(sentences, at, next), depth)
      for (let end = at + 2; end <= Math.min(at + SENTENCES_OF_A_TEMPLATE, sentences.length) && !isClear(best); end += 1) {
        const found = this.readWhole(joined(sentences, at, end), depth)
        if (isClear(found)) [best, next] = [found, end]
      }
      said += (/[\p{L}\p{N}.!?;:)]$/u.test(said) && /^[\p{L}\p{N}'"(]/u.test(best.said) ? ' ' : '') + best.said
      if (sentences[next - 1]?.end === ';') said += isClear(best) ? '；' : '; '
      left += best.left
      read.push(best)
      at = next
    }
    return read.some(one => one.fits) ? { said, left, fits: true, isWhole: read.every(isClear) } : undefined
  }
}

/** Two words in a row are a sentence that is not understood; names and numbers, also lists of them, are nothing to translate. */
const FOREIGN = /\p{L}{2,}\s+\p{L}{2,}/u
const isForeign = (text: string) => FOREIGN.test(withoutQuoted(text))
const asItIs = (text: string): Reading => ({ said: text, left: isForeign(text) ? text.length : 0, fits: false })
/** Whether a template fits, and leaves no words. */
const isClear = ({ fits, left }: Reading) => fits && left === 0
const better = (a: Reading, b: Reading) => (b.left < a.left || (b.left === a.left && b.fits && !a.fits) ? b : a)

function compile(english: string, said: string): Template {
  const pieces = english.split(HOLE)
  const literals: string[] = []
  const holes: ('r' | '*' | '')[] = []
  for (let at = 0; at < pieces.length; at += 3) {
    literals.push(pieces[at] ?? '')
    if (at + 1 < pieces.length) holes.push(pieces[at + 2] === '!r' ? 'r' : pieces[at + 2] === '*' ? '*' : '')
  }
  const spoken = said.split(/\{(\d+)\}/).map((piece, place) => (place % 2 === 1 ? Number(piece) : piece))
  return { literals, holes, hasWords: literals.some(literal => /[A-Za-z]{2}/.test(literal)), begins: /[A-Za-z]{2}/.test(literals[0] ?? ''), weight: literals.reduce((sum, literal) => sum + literal.length, 0), said: spoken }
}

/** What may stand in the holes of a template, likelier first: what follows words of ours is looked for at its first place, brackets around them at their last. */
function readings(text: string, template: Template): string[][] {
  const near = match(text, template, false)
  const far = near && template.holes.includes('*') ? match(text, template, true) : undefined
  if (!near) return []
  if (!far || far.every((part, place) => part === near[place])) return [near]
  return template.literals.some((literal, place) => place > 0 && /^ ?[[(\])]/.test(literal)) ? [far, near] : [near, far]
}

/** The parts of a text between the literals of a template, each of these at its first place; `far`: after words of ours at its last. */
function match(text: string, { literals, holes }: Template, far: boolean): string[] | undefined {
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
    else end = far && hole === '*' ? text.lastIndexOf(next) : text.indexOf(next, at)
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

/** Where quoted texts start and end, one after the other. A quote that has no end is looked for once. */
function quotedIn(text: string): ReadonlyMap<number, number> {
  const found = new Map<number, number>()
  const endless = new Set<string>()
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charAt(at)
    if ((sign !== '\'' && sign !== '"') || endless.has(sign) || /[\p{L}\p{N}]/u.test(text.charAt(at - 1))) continue
    const end = endOfQuoted(text, at)
    if (end < 0) endless.add(sign)
    else found.set(at, end)
    at = Math.max(at, end - 1)
  }
  return found
}

function withoutQuoted(text: string): string {
  let rest = ''
  let from = 0
  for (const [start, end] of quotedIn(text)) {
    rest += text.slice(from, start)
    from = end
  }
  return rest + text.slice(from)
}

interface Sentence { readonly text: string, readonly end: '.' | ';' }

/** Parts a text after full stops and at semicolons, not inside of quotes. */
function splitSentences(text: string): Sentence[] {
  const quoted = quotedIn(text)
  const found: Sentence[] = []
  let start = 0
  for (let at = 0; at < text.length; at += 1) {
    at = quoted.get(at) ?? at
    const sign = text.charAt(at)
    if (!'.!?;'.includes(sign) || text.charAt(at + 1) !== ' ') continue
    found.push({ text: text.slice(start, sign === ';' ? at : at + 1), end: sign === ';' ? ';' : '.' })
    start = at + 2
  }
  found.push({ text: text.slice(start), end: '.' })
  return found.filter(sentence => sentence.text !== '')
}

function joined(sentences: readonly Sentence[], from: number, to: number): string {
  return sentences.slice(from, to).map((one, place) => one.text + (place === to - from - 1 ? '' : one.end === ';' ? '; ' : ' ')).join('')
}
