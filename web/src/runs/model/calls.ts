/** Model and tool calls as a person reads them: what was sent as messages, what came back as text. Pure. */
import { writeJson } from '@/api/json'
import type { Call } from '@/api/types'
import { without } from './without'

export interface Message { readonly role: string, readonly text: string }
const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The messages of a model call, in order; what else was sent is `settingsOf`. */
export function messagesOf(call: Call): Message[] {
  const request = call.request
  if (!isRecord(request) || !Array.isArray(request['messages'])) return []
  return request['messages'].filter(isRecord).map(message => ({ role: String(message['role'] ?? ''), text: contentOf(message['content']) || contentOf(message['toolCalls']) }))
}

function contentOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (content === undefined || content === null) return ''
  if (Array.isArray(content) && content.every(part => isRecord(part) && typeof part['text'] === 'string')) return content.map(part => (part as { text: string }).text).join('\n')
  return writeJson(content, 2)
}

export function settingsOf(call: Call): Record<string, unknown> {
  if (!isRecord(call.request)) return {}
  return without(call.request, 'messages')
}

/** What came back: the text alone where there is nothing else. */
export function answerOf(call: Call): unknown {
  const { response } = call
  if (isRecord(response) && typeof response['text'] === 'string' && Object.keys(response).length === 1) return response['text']
  return response
}
