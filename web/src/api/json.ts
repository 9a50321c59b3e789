/**
 * JSON as the page reads and writes it: an integer that a number would round (beyond 2^53) is a bigint here, so that
 * what a person sees, compares and sends on is the very number that was stored.
 */

/** Where a string begins, or a whole number token. */
const STOP = /"|-?\d[\d.eE+-]*/g
const MAY_ROUND = /\d{16}/
const INTEGER = /^[+-]?\d+$/

/** Reads JSON. Throws a SyntaxError where it is none. */
export function readJson(text: string): unknown {
  if (!MAY_ROUND.test(text)) return JSON.parse(text)
  const mark = freshMark()
  const marked = withMarks(text, mark)
  if (marked === text) return JSON.parse(text)
  return JSON.parse(marked, (name, value: unknown) => {
    if (name.startsWith(mark)) throw new SyntaxError('A number is no name.')
    return typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value
  })
}

/** What a text says where it is JSON. */
export function tryJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: readJson(text) }
  } catch {
    return undefined
  }
}

/** Writes JSON; what JSON has no form for is the empty text. */
export function writeJson(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent) ?? ''
  } catch {
    const mark = freshMark()
    const text = JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? `${mark}${inner}` : inner), indent)
    return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1')
  }
}

/** A number as it is typed, not rounded where it is whole; NaN where it is none. */
export function readNumber(text: string): number | bigint {
  const number = Number(text)
  return Number.isSafeInteger(number) || !INTEGER.test(text.trim()) ? number : BigInt(text.trim())
}

/** A beginning of a text that no other text has. */
const freshMark = () => `${crypto.getRandomValues(new Uint32Array(4)).join('.')}:`

function withMarks(text: string, mark: string): string {
  let marked = ''
  let taken = 0
  STOP.lastIndex = 0
  for (let stop = STOP.exec(text); stop; stop = STOP.exec(text)) {
    const [token] = stop
    if (token === '"') {
      STOP.lastIndex = endOfString(text, stop.index + 1)
    } else if (/^-?[1-9]\d{15,}$/.test(token) && !Number.isSafeInteger(Number(token))) {
      marked += `${text.slice(taken, stop.index)}"${mark}${token}"`
      taken = STOP.lastIndex
    }
  }
  return marked + text.slice(taken)
}

/** Behind the closing quotation mark. An expression that skips escapes would run out of stack on megabytes. */
function endOfString(text: string, from: number): number {
  for (let quote = text.indexOf('"', from); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0
    while (text[quote - 1 - slashes] === '\\') slashes += 1
    if (slashes % 2 === 0) return quote + 1
  }
  return text.length
}
