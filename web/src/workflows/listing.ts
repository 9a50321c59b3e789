/** Which workflows are listed, and in which order. Pure. */
import type { Mode, WorkflowSummary } from '@/api/types'

export const ORDERS = ['changed', 'ran', 'name'] as const
export type Order = typeof ORDERS[number]
export interface Listing { text: string, mode: Mode | 'all', order: Order }

export function listed(items: readonly WorkflowSummary[], { text, mode, order }: Listing): WorkflowSummary[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const ranAt = (item: WorkflowSummary) => item.lastRuns[0]?.createdAt ?? ''
  return items
    .filter(item => mode === 'all' || item.mode === mode)
    .filter(item => words.every(word => `${item.name} ${item.description}`.toLowerCase().includes(word)))
    .sort((a, b) => {
      if (order === 'name') return a.name.localeCompare(b.name)
      if (order === 'ran') return ranAt(b).localeCompare(ranAt(a)) || b.updatedAt.localeCompare(a.updatedAt)
      return b.updatedAt.localeCompare(a.updatedAt)
    })
}

/** A file name for an exported workflow: its own name, without what file systems refuse. */
export function fileName(name: string): string {
  const clean = name.replace(/[\\/:*?"<>|\u0000-\u001f]+/g, ' ').replace(/\s+/g, ' ').trim().slice(0, 80)
  return `${clean || 'workflow'}.json`
}
