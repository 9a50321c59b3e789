/**
 * Markdown from models, as HTML that cannot harm: no HTML of theirs, links to http, https and mailto alone, no
 * attribute but these, and no image is fetched (it becomes a link that a person may follow). Pure; what it makes is
 * cleaned once more as a whole where it is shown (`cleanHtml.ts`).
 */
import MarkdownIt from 'markdown-it'

const reader = new MarkdownIt({ html: false, linkify: false, breaks: true, typographer: false })
export const SAFE_URL = /^(?:https?:|mailto:)/i
reader.validateLink = url => SAFE_URL.test(url.trim())

const { escapeHtml } = reader.utils
const link = (url: string) => `<a href="${escapeHtml(url)}" target="_blank" rel="noopener noreferrer nofollow">`
const attribute = (token: { attrGet: (name: string) => string | number | null } | undefined, name: string) => String(token?.attrGet(name) ?? '')
const code = (text: string) => `<pre><code>${escapeHtml(text)}</code></pre>\n`

reader.renderer.rules['link_open'] = (tokens, index) => link(attribute(tokens[index], 'href'))
reader.renderer.rules['image'] = (tokens, index) => {
  const url = attribute(tokens[index], 'src')
  return `${link(url)}${escapeHtml(tokens[index]?.content || url)}</a>`
}
reader.renderer.rules['fence'] = (tokens, index) => code(tokens[index]?.content ?? '')
reader.renderer.rules['code_block'] = (tokens, index) => code(tokens[index]?.content ?? '')
for (const name of ['th_open', 'td_open']) reader.renderer.rules[name] = () => `<${name.slice(0, 2)}>`

export function markdownToHtml(text: string): string {
  return reader.render(text)
}

/** Where the finished blocks of a text that is still forming end: after the last blank line outside a fence. */
export function finishedUntil(text: string): number {
  let at = 0
  let until = 0
  let fence: string | undefined
  for (const line of text.match(/[^\n]*\n/g) ?? []) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence === undefined && mark) fence = mark
    else if (fence !== undefined && mark?.startsWith(fence)) fence = undefined
    at += line.length
    if (fence === undefined && line.trim() === '') until = at
  }
  return until
}
