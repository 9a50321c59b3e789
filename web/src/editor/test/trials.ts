/** The tests of nodes in this editor: what was given to each and what came of it, kept while other nodes are looked at. */
import { defineStore } from 'pinia'
import { reactive } from 'vue'
import type { GraphNode, NodeTest } from '@/api/types'

export interface ExtraRow { name: string, type: 'text' | 'number' | 'json', value: string }

export interface Trial {
  /** The run and the visit whose workspace is taken; empty where only what is typed counts. */
  runId: string
  visitId: string
  typed: Record<string, string>
  extra: ExtraRow[]
  isRunning: boolean
  answer?: { readonly test: NodeTest, readonly tookMs: number, readonly node: GraphNode } | undefined
  error?: unknown
}

export const useTrials = defineStore('trials', () => {
  const trials = reactive(new Map<string, Trial>())

  function of(workflowId: string, nodeId: string): Trial {
    const key = `${workflowId} ${nodeId}`
    if (!trials.has(key)) trials.set(key, { runId: '', visitId: '', typed: {}, extra: [], isRunning: false })
    return trials.get(key) as Trial
  }
  return { of }
})
