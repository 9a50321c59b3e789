/** The workflows of this person, and what can be done with one from outside the editor. */
import { defineStore } from 'pinia'
import { shallowRef } from 'vue'
import { api, fileForm, ok } from '@/api/client'
import { allPages } from '@/api/pages'
import type { Imported, Mode, WorkflowSummary } from '@/api/types'

export const useWorkflows = defineStore('workflows', () => {
  const items = shallowRef<WorkflowSummary[]>()
  const error = shallowRef<unknown>()
  // Rows that are being deleted stay away, also when a list that was asked for before comes late.
  const leaving = new Set<string>()

  async function load() {
    try {
      const all = await allPages(cursor => ok(api.GET('/api/workflows', { params: { query: { limit: 200, ...cursor } } })))
      items.value = all.filter(item => !leaving.has(item.id))
      error.value = undefined
    } catch (failure) {
      error.value = failure
    }
  }

  function create(name: string, mode: Mode) {
    return ok(api.POST('/api/workflows', { body: { name, mode, graphData: { nodes: [], edges: [] } } }))
  }

  async function duplicate(id: string) {
    const made = await ok(api.POST('/api/workflows/{workflow_id}/duplicate', { params: { path: { workflow_id: id } } }))
    await load()
    return made
  }

  /** Takes the row away at once; it comes back when the server refuses. */
  async function remove(id: string, cancelRuns = false) {
    const before = items.value
    leaving.add(id)
    items.value = before?.filter(item => item.id !== id)
    try {
      await ok(api.DELETE('/api/workflows/{workflow_id}', { params: { path: { workflow_id: id }, query: { cancelRuns } } }))
    } catch (failure) {
      leaving.delete(id)
      items.value = before
      throw failure
    }
  }

  async function restore(id: string) {
    await ok(api.POST('/api/workflows/{workflow_id}/restore', { params: { path: { workflow_id: id } } }))
    leaving.delete(id)
    await load()
  }

  function importFile(file: File): Promise<Imported> {
    return ok(api.POST('/api/workflows/import', { body: fileForm(file) as never, bodySerializer: form => form }))
  }

  function exported(id: string): Promise<unknown> {
    return ok(api.GET('/api/workflows/{workflow_id}/export', { params: { path: { workflow_id: id } } }))
  }

  return { items, error, load, create, duplicate, remove, restore, importFile, exported }
})
