/** Reads a cursor list to its end, up to a thousand entries: enough for what is searched in the browser. */

interface Page<T> { items: T[], nextCursor: string | null }

const MOST_PAGES = 5

export async function allPages<T>(page: (cursor: { cursor?: string }) => Promise<Page<T>>): Promise<T[]> {
  const all: T[] = []
  let cursor: string | null = null
  for (let n = 0; n < MOST_PAGES; n += 1) {
    const { items, nextCursor }: Page<T> = await page(cursor === null ? {} : { cursor })
    all.push(...items)
    if (nextCursor === null) break
    cursor = nextCursor
  }
  return all
}
