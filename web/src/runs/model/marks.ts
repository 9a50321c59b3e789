/** The marks of markdown in a text: whether there are any, and the text without them, for a line that only gives a glimpse. Pure. */

/** Does a text use markdown, so that showing it as such is of use? */
export function looksLikeMarkdown(text: string): boolean {
  return /^ {0,3}(#{1,6} |[-*+] |\d+[.)] |> |`{3}|\|.+\|)|\*\*[^*\n]+\*\*|`[^`\n]+`|\[[^\]\n]+\]\([^)\n]+\)/m.test(text.slice(0, 20_000))
}

const LINES: readonly [RegExp, string][] = [
  [/^ {0,3}(`{3,}|~{3,}).*$/gm, ''], [/^ {0,3}(?:[-*_] *){3,}$/gm, ''], [/^ *\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$/gm, ''],
  [/^ *(?:> ?)+/gm, ''], [/^ {0,3}#{1,6} +/gm, ''], [/^( *)[-*+] +(?:\[[ xX]\] +)?/gm, '$1• '], [/^ *\|(.*)\| *$/gm, '$1'],
]
const WORDS: readonly [RegExp, string][] = [
  [/!?\[([^\]\n]*)\]\([^()\n]*\)/g, '$1'], [/(\*\*|__)(?=\S)([^\n]*?\S)\1/g, '$2'], [/(?<![\w*])\*(?=[^\s*])([^*\n]*?[^\s*])\*(?![\w*])/g, '$1'],
  [/(?<!\w)_(?=[^\s_])([^_\n]*?[^\s_])_(?!\w)/g, '$1'], [/~~([^~\n]+)~~/g, '$1'], [/(`+)([^`\n]+)\1/g, '$2'],
]

/** The text as it reads: marks of headings, emphasis, code, links and tables left out, words kept. */
export function withoutMarks(text: string): string {
  if (!looksLikeMarkdown(text)) return text
  return [...LINES, ...WORDS].reduce((left, [mark, kept]) => left.replace(mark, kept), text)
}
