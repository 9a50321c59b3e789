/** The MCP servers, and what can be done with one. Tokens and headers go to the server and never come back. */
import { defineStore } from 'pinia'
import { shallowRef } from 'vue'
import { api, ok } from '@/api/client'
import type { McpServer, McpServerChanged, McpServerGiven, McpTools } from '@/api/types'

const path = (id: string) => ({ params: { path: { server_id: id } } })

export const useMcpServers = defineStore('mcpServers', () => {
  const items = shallowRef<McpServer[]>()
  const error = shallowRef<unknown>()

  async function load() {
    try {
      items.value = (await ok(api.GET('/api/mcp-servers'))).items
      error.value = undefined
    } catch (failure) {
      error.value = failure
    }
  }
  const replace = (server: McpServer) => {
    items.value = items.value?.map(one => (one.id === server.id ? server : one))
    return server
  }

  async function add(body: McpServerGiven): Promise<McpServer> {
    const added = await ok(api.POST('/api/mcp-servers', { body }))
    await load()
    return added
  }
  const change = async (id: string, body: McpServerChanged) => replace(await ok(api.PATCH('/api/mcp-servers/{server_id}', { ...path(id), body })))
  async function remove(id: string) {
    await ok(api.DELETE('/api/mcp-servers/{server_id}', path(id)))
    items.value = items.value?.filter(server => server.id !== id)
  }
  /** Connects to the server. */
  const tools = (id: string): Promise<McpTools> => ok(api.GET('/api/mcp-servers/{server_id}/tools', path(id)))
  const accept = (id: string, hash: string): Promise<McpTools> => ok(api.POST('/api/mcp-servers/{server_id}/tools/accept', { ...path(id), body: { hash } }))

  return { items, error, load, add, change, remove, tools, accept }
})
