/** Reads and writes JSON beside the page. A text that is none is answered without a value. */
import type { JsonAnswer, JsonWork } from './useJsonWork'

function done(work: JsonWork): Omit<JsonAnswer, 'id'> {
  if (work.kind === 'format') return { text: JSON.stringify(work.value, null, 2) ?? '' }
  try {
    return { value: JSON.parse(work.text) as unknown }
  } catch {
    return {}
  }
}

addEventListener('message', ({ data }: MessageEvent<JsonWork>) => { postMessage({ id: data.id, ...done(data) }) })
