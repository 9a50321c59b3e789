/** The tools of MCP servers, asked for when a person wants to choose one: a form that is only opened connects to nothing. */
import { ref, shallowRef } from 'vue'
import { useI18n } from 'vue-i18n'
import type { McpServer, McpTool } from '@/api/types'
import { useMcpServers } from '@/mcp/store'
import { toolChoice } from './choices'

export interface ServerTools { readonly server: McpServer, readonly tools: readonly McpTool[] }

export function useToolsOf() {
  const { t } = useI18n()
  const store = useMcpServers()
  const found = shallowRef<readonly ServerTools[]>([])
  /** By the server's name. */
  const errors = shallowRef<ReadonlyMap<string, unknown>>(new Map())
  const busy = ref(false)

  /** Asks these servers, or all. */
  async function ask(wanted?: string) {
    if (busy.value) return
    busy.value = true
    try {
      await store.load()
      const servers = (store.items ?? []).filter(server => wanted === undefined || server.name === wanted)
      const failed = new Map<string, unknown>()
      const lists = await Promise.all(servers.map(async (server) => {
        try {
          return { server, tools: (await store.tools(server.id)).items }
        } catch (failure) {
          failed.set(server.name, failure)
          return undefined
        }
      }))
      found.value = lists.filter(list => list !== undefined)
      errors.value = failed
    } finally {
      busy.value = false
    }
  }
  const choiceOf = (tool: McpTool, name: string) => toolChoice(tool, name, { changed: t('editor.mcpTool.changed'), asks: t('editor.mcpTool.asks') })
  return { found, errors, busy, ask, choiceOf, store }
}
