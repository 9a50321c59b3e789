/** Lists of records as forms edit them: read leniently, changed by whole rows. Pure. */

export type Row = Readonly<Record<string, unknown>>

export function rowsOf(value: unknown): Row[] {
  if (!Array.isArray(value)) return []
  return value.map((item: unknown) => (typeof item === 'object' && item !== null && !Array.isArray(item) ? item as Row : { name: typeof item === 'string' ? item : '' }))
}

export const withRow = (rows: readonly Row[], index: number, changes: Row): Row[] =>
  rows.map((row, at) => (at === index ? Object.fromEntries(Object.entries({ ...row, ...changes }).filter(([, value]) => value !== undefined)) : row))
export const withoutRow = <T>(rows: readonly T[], index: number): T[] => rows.filter((_, at) => at !== index)

export function movedRow<T>(rows: readonly T[], from: number, to: number): T[] {
  const moved = [...rows]
  const [row] = moved.splice(from, 1)
  if (row === undefined || to < 0 || to > moved.length) return [...rows]
  moved.splice(to, 0, row)
  return moved
}

export const textIn = (row: Row, key: string) => (typeof row[key] === 'string' ? row[key] : '')

/** `topic`, `topic2`, `topic3`: a name that no row has. */
export function freeName(stem: string, rows: readonly Row[]): string {
  const taken = new Set(rows.map(row => row['name']))
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? stem : `${stem}${n}`
    if (!taken.has(name)) return name
  }
}
