/** How the command bar finds: every word of the query must occur; earlier and at a word's start is better. Pure. */

/** How well a text answers a query; `undefined` when it does not. Higher is better. */
export function score(text: string, query: string): number | undefined {
  const target = text.toLowerCase()
  let total = 0
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = target.indexOf(word)
    if (at < 0) return undefined
    const startsWord = at === 0 || /[\s·\-/“”"'(（]/.test(target[at - 1] ?? '')
    total += (startsWord ? 2 : 1) + 1 / (1 + at)
  }
  return total
}

/** The best of these for a query, best first; of equals the earlier stays first. */
export function best<T>(items: readonly T[], query: string, textOf: (item: T) => string, limit: number): T[] {
  return items
    .map((item, index) => ({ item, index, score: score(textOf(item), query) }))
    .filter((each): each is typeof each & { score: number } => each.score !== undefined)
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, limit)
    .map(each => each.item)
}

/** What was chosen lately first, the rest as it was. */
export function recentFirst<T>(items: readonly T[], recent: readonly string[], idOf: (item: T) => string): T[] {
  const rank = (item: T) => (recent.includes(idOf(item)) ? recent.indexOf(idOf(item)) : recent.length)
  return items.map((item, index) => ({ item, index })).sort((a, b) => rank(a.item) - rank(b.item) || a.index - b.index).map(each => each.item)
}

/** The text in parts, those that the query hit marked. */
export function marked(text: string, query: string): { text: string, hit: boolean }[] {
  const words = query.replace(/^[>@#]/, '').split(/\s+/).filter(Boolean).map(word => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  if (words.length === 0) return [{ text, hit: false }]
  return text.split(new RegExp(`(${words.join('|')})`, 'gi')).filter(Boolean)
    .map(part => ({ text: part, hit: words.some(word => new RegExp(`^${word}$`, 'i').test(part)) }))
}
