/** What a row's actions do, with what is said about it: undo after a delete, a question while runs are open. */
import { shallowRef } from 'vue'
import { useI18n } from 'vue-i18n'
import { useRouter } from 'vue-router'
import { ApiError } from '@/api/errors'
import { writeJson } from '@/api/json'
import type { WorkflowSummary } from '@/api/types'
import { saveFile } from '@/ui/saveFile'
import { useToasts } from '@/ui/toasts'
import { useAttempt } from '@/ui/useAttempt'
import { fileName } from './listing'
import type { RowAction } from './rowActions'
import { useWorkflows } from './store'

export function useWorkflowActions() {
  const { t } = useI18n()
  const router = useRouter()
  const workflows = useWorkflows()
  const toasts = useToasts()
  const { error, attempt } = useAttempt()
  /** The workflow that was to be deleted while runs of it are open. */
  const open = shallowRef<WorkflowSummary>()

  async function remove(workflow: WorkflowSummary, cancelRuns = false) {
    try {
      await workflows.remove(workflow.id, cancelRuns)
      toasts.show(t('workflows.delete.done', { name: workflow.name }), { label: t('workflows.delete.undo'), keys: 'mod+z', run: () => attempt(() => workflows.restore(workflow.id)) })
    } catch (failure) {
      if (failure instanceof ApiError && failure.code === 'RUNS_OPEN' && !cancelRuns) open.value = workflow
      else throw failure
    }
  }

  async function duplicate(workflow: WorkflowSummary) {
    const made = await workflows.duplicate(workflow.id)
    toasts.show(t('workflows.duplicate.done', { name: made.name }), { label: t('workflows.sample.open'), run: () => router.push({ name: 'editor', params: { id: made.id } }) })
  }

  function act(action: RowAction, workflow: WorkflowSummary) {
    switch (action) {
      case 'run': return attempt(() => router.push({ name: 'editor', params: { id: workflow.id }, query: { dialog: 'run' } }))
      case 'duplicate': return attempt(() => duplicate(workflow))
      case 'export': return attempt(async () => { saveFile(fileName(workflow.name), writeJson(await workflows.exported(workflow.id), 2)) })
      case 'delete': return attempt(() => remove(workflow))
    }
  }

  function removeWithRuns() {
    const workflow = open.value
    open.value = undefined
    return workflow && attempt(() => remove(workflow, true))
  }

  return { act, error, open, removeWithRuns }
}
