/** Real runs of the samples, for tests: what the server keeps of each, and the events that led there. */
import { readFileSync } from 'node:fs'
import type { RunDetail, RunEvent } from '@/api/types'

export interface Recorded { detail: RunDetail, events: RunEvent[] }

export function recorded(name: 'loop-back' | 'review-loop' | 'weather' | 'three-views'): Recorded {
  return JSON.parse(readFileSync(new URL(`./${name}.json`, import.meta.url), 'utf8')) as Recorded
}
