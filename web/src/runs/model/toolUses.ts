/** Tool calls of a step as a card lists them. Pure. */
import { writeJson } from '@/api/json'
import type { Status } from '@/ui/status'
import type { ToolUse } from './runView'

/** A call without a result is being made; when its step has ended it was cut off. */
export function statusOf(tool: ToolUse, stepEnded: boolean): Status {
  if (tool.durationMs === undefined) return stepEnded ? 'CANCELLED' : 'RUNNING'
  return tool.error ? 'FAILED' : 'SUCCESS'
}

/** `server__tool` as the server's name and the tool's own; a tool of the product has no server. */
export function namesOf(qualified: string): { server?: string, tool: string } {
  const at = qualified.indexOf('__')
  return at > 0 && at + 2 < qualified.length ? { server: qualified.slice(0, at), tool: qualified.slice(at + 2) } : { tool: qualified }
}

/** The arguments in a line: `name: value`, without the braces. */
export function given(args: unknown): string {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return args === undefined || args === null ? '' : writeJson(args)
  return Object.entries(args).map(([name, value]) => `${name}: ${typeof value === 'string' ? value : writeJson(value)}`).join(', ')
}
