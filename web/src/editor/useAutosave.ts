/**
 * Saves the document 800 ms after the last edit, on blur and on leaving.
 *
 * A save carries the revision it was made from, one is under way at a time, and the next carries the revision that came
 * back. When the stored document is another by now nothing is overwritten: saving rests until a person has decided.
 * What cannot be sent is kept on this device and tried again.
 */
import { onScopeDispose, ref, shallowRef, watch } from 'vue'
import { api, ok } from '@/api/client'
import { toApiError, type ApiError } from '@/api/errors'
import type { Workflow } from '@/api/types'
import { workflowOf } from './document/document'
import { dropDraft, keepDraft } from './kept'
import type { useGraph } from './store'

export type SaveState = 'saved' | 'saving' | 'offline' | 'conflict' | 'refused'

const QUIET_MS = 800
const AGAIN_MS = 5000

export function useAutosave(graph: ReturnType<typeof useGraph>) {
  const state = ref<SaveState>('saved')
  const error = shallowRef<ApiError>()
  /** The stored document that stands against this one. */
  const current = shallowRef<Workflow>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let underway: Promise<void> | undefined

  function later(ms = QUIET_MS) {
    clearTimeout(timer)
    timer = setTimeout(() => { void flush() }, ms)
  }

  /** Saves now what is not saved, and waits for it. */
  async function flush(): Promise<void> {
    clearTimeout(timer)
    if (underway) await underway
    if (!graph.isChanged || state.value === 'conflict' || graph.workflowId === undefined) return
    underway = send(graph.workflowId)
    await underway
    underway = undefined
    if (graph.isChanged && state.value === 'saved') later()
  }

  async function send(workflowId: string) {
    const sent = graph.document
    state.value = 'saving'
    try {
      const body = { ...workflowOf(sent), revision: graph.base.revision }
      const stored = await ok(api.PUT('/api/workflows/{workflow_id}', { params: { path: { workflow_id: workflowId } }, body: body as never }))
      graph.saved(sent, stored)
      state.value = 'saved'
      error.value = undefined
      dropDraft(workflowId)
    } catch (failure) {
      take(toApiError(failure), workflowId)
    }
  }

  function take(failure: ApiError, workflowId: string) {
    error.value = failure
    keepHere(workflowId)
    if (failure.code === 'REVISION_CONFLICT') {
      current.value = failure.problem['current'] as Workflow
      state.value = 'conflict'
    } else if (failure.status === 0 || failure.status >= 500 || failure.status === 429 || failure.status === 401) {
      state.value = 'offline'
      later(AGAIN_MS)
    } else {
      state.value = 'refused'
    }
  }

  function keepHere(workflowId: string) {
    keepDraft(workflowId, { revision: graph.base.revision, base: workflowOf(graph.base.document), workflow: workflowOf(graph.document) })
  }

  /** The conflict was decided: saving goes on from the stored revision. */
  function decided() {
    current.value = undefined
    error.value = undefined
    state.value = 'saved'
    if (graph.workflowId !== undefined) dropDraft(graph.workflowId)
    void flush()
  }

  const stop = watch(() => graph.document, () => {
    if (!graph.isChanged) return
    if (state.value === 'conflict') {
      if (graph.workflowId !== undefined) keepHere(graph.workflowId)
      return
    }
    later()
  })
  const onBlur = () => { void flush() }
  const onHide = () => {
    if (!graph.isChanged || graph.workflowId === undefined) return
    keepHere(graph.workflowId)
    void flush()
  }
  const onOnline = () => { if (state.value === 'offline') void flush() }
  addEventListener('blur', onBlur)
  addEventListener('pagehide', onHide)
  addEventListener('online', onOnline)
  onScopeDispose(() => {
    stop()
    clearTimeout(timer)
    removeEventListener('blur', onBlur)
    removeEventListener('pagehide', onHide)
    removeEventListener('online', onOnline)
  })

  return { state, error, current, flush, decided, retry: flush }
}

export type Autosave = ReturnType<typeof useAutosave>
