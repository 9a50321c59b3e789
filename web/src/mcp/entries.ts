/** The form of an MCP server: what is typed, and what is sent of it. Pure. */
import type { McpServer, McpServerChanged, McpServerGiven } from '@/api/types'

export interface HeaderRow { name: string, value: string }
export interface ServerForm { name: string, url: string, token: string, removesToken: boolean, headers: HeaderRow[], changesHeaders: boolean }

export function formOf(server?: McpServer): ServerForm {
  return { name: server?.name ?? '', url: server?.url ?? '', token: '', removesToken: false, headers: [], changesHeaders: server === undefined || server.headerNames.length === 0 }
}

function headersOf(form: ServerForm): Record<string, string> {
  return Object.fromEntries(form.headers.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), value]))
}

export function givenOf(form: ServerForm): McpServerGiven {
  const headers = headersOf(form)
  return { name: form.name.trim(), url: form.url.trim(), ...(form.token !== '' && { token: form.token }), ...(Object.keys(headers).length > 0 && { headers }) }
}

/** Only what is to be different: what is missing stays. */
export function changeOf(form: ServerForm, server: McpServer): McpServerChanged {
  const headers = headersOf(form)
  const newHeaders = form.changesHeaders && (server.headerNames.length > 0 || Object.keys(headers).length > 0)
  return {
    ...(form.url.trim() !== server.url && { url: form.url.trim() }),
    ...(form.removesToken ? { token: '' } : form.token !== '' && { token: form.token }),
    ...(newHeaders && { headers }),
  }
}

export const ALL = '*'

/** The tools before which a person is asked, with one more or one less; `*` is taken apart into those that there are. */
export function asking(approval: readonly string[], all: readonly string[], tool: string, asks: boolean): string[] {
  const before = approval.includes(ALL) ? all : approval
  return asks ? [...new Set([...before, tool])] : before.filter(name => name !== tool)
}
