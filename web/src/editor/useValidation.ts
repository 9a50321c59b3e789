/** What is wrong with the document, as the server's own check says, asked a moment after each edit. */
import { computed, onScopeDispose, shallowRef, watch } from 'vue'
import type { ProblemCount } from '@/canvas/context'
import { api, ok } from '@/api/client'
import type { Check, CheckFault } from '@/api/types'
import { workflowOf } from './document/document'
import type { useGraph } from './store'

const QUIET_MS = 350

export interface Problem extends CheckFault { readonly isError: boolean }

export function useValidation(graph: ReturnType<typeof useGraph>) {
  const check = shallowRef<Check>()
  const failed = shallowRef(false)
  let timer: ReturnType<typeof setTimeout> | undefined
  let abort: AbortController | undefined

  async function ask() {
    abort?.abort()
    abort = new AbortController()
    const { signal } = abort
    try {
      check.value = await ok(api.POST('/api/workflows/validate', { body: workflowOf(graph.document) as never, signal }))
      failed.value = false
    } catch {
      // The last answer stays; saving says what is wrong with the connection.
      if (!signal.aborted) failed.value = true
    }
  }

  watch(() => graph.document, () => {
    clearTimeout(timer)
    timer = setTimeout(() => { void ask() }, check.value ? QUIET_MS : 0)
  }, { immediate: true })
  onScopeDispose(() => {
    clearTimeout(timer)
    abort?.abort()
  })

  const problems = computed<Problem[]>(() => [
    ...(check.value?.errors ?? []).map(fault => ({ ...fault, isError: true })),
    ...(check.value?.warnings ?? []).map(fault => ({ ...fault, isError: false })),
  ])
  const counts = computed<ReadonlyMap<string, ProblemCount>>(() => {
    const found = new Map<string, { errors: number, warnings: number }>()
    for (const { node, isError } of problems.value) {
      if (node === null) continue
      const count = found.get(node) ?? { errors: 0, warnings: 0 }
      count[isError ? 'errors' : 'warnings'] += 1
      found.set(node, count)
    }
    return found
  })
  return { check, problems, counts, failed }
}
