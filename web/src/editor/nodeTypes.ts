/** The node types that this server knows, loaded once: palette, forms and handles are drawn from them. */
import { defineStore } from 'pinia'
import { computed, shallowRef } from 'vue'
import { api, ok } from '@/api/client'
import type { NodeType } from '@/api/types'

export const useNodeTypes = defineStore('nodeTypes', () => {
  const list = shallowRef<readonly NodeType[]>([])
  const byType = computed<ReadonlyMap<string, NodeType>>(() => new Map(list.value.map(type => [type.type, type])))
  let loading: Promise<void> | undefined

  async function fetchAll() {
    const { items } = await ok(api.GET('/api/node-types'))
    list.value = items.map(item => Object.freeze(item))
  }
  /** Loads them unless they are there; a failed call is tried again by the next. */
  function load(): Promise<void> {
    loading ??= fetchAll().catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }
  return { list, byType, load }
})
