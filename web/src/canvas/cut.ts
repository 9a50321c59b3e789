/** Cuts texts in the data, since nothing on the canvas is clipped: clipping costs a layer a node. Pure. */

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u

/** The first line of a text, as wide as `units` Latin letters at most. */
export function cutLine(text: string, units: number): string {
  const line = text.trim().split(/\r?\n/, 1)[0] ?? ''
  let width = 0
  let end = 0
  for (const sign of line) {
    width += WIDE.test(sign) ? 1.75 : 1
    if (width > units) return `${line.slice(0, end).trimEnd()}…`
    end += sign.length
  }
  return line
}

/** The end of a text that is still growing. */
export function newestOf(text: string, units: number): string {
  let width = 0
  const signs = [...text.slice(-4 * units)]
  let from = signs.length
  while (from > 0) {
    width += WIDE.test(signs[from - 1] ?? '') ? 1.75 : 1
    if (width > units) break
    from -= 1
  }
  return (from > 0 ? '…' : '') + signs.slice(from).join('').trimStart()
}
