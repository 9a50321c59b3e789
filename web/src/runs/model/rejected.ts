/** What a planner's answer named that was not accepted, where it named something. Pure. */
import { readJson } from '@/api/json'

/** The last `"next": "…"` in the answer, unescaped; undefined where it has none. */
export function namedIn(answer: string): string | undefined {
  const quoted = [...answer.matchAll(/["']next["']\s*:\s*("(?:[^"\\]|\\.)*"|'[^'\n]*')/g)].at(-1)?.[1]
  if (quoted === undefined) return undefined
  try {
    return quoted.startsWith('"') ? readJson(quoted) as string : quoted.slice(1, -1)
  } catch {
    return quoted.slice(1, -1)
  }
}
