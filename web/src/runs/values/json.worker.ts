/** Reads and writes JSON beside the page. A text that is none is answered without a value. */
import { tryJson, writeJson } from '@/api/json'
import type { JsonAnswer, JsonWork } from './useJsonWork'

function done(work: JsonWork): Omit<JsonAnswer, 'id'> {
  if (work.kind === 'format') return { text: writeJson(work.value, 2) }
  return tryJson(work.text) ?? {}
}

addEventListener('message', ({ data }: MessageEvent<JsonWork>) => { postMessage({ id: data.id, ...done(data) }) })
