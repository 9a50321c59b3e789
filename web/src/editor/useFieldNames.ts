/** What a field is called where it is edited: the form's label of a node's field, the label of a workflow's. */
import { useI18n } from 'vue-i18n'
import { formOf } from './document/form'
import { useNodeTypes } from './nodeTypes'

const OF_WORKFLOW: Readonly<Record<string, string>> = {
  name: 'name', description: 'description', mode: 'mode', plannerModelId: 'planner', maxVisits: 'maxVisits', budget: 'budget',
}
const OF_DRAWING = new Set(['label', 'position', 'type', 'width', 'height'])

export function useFieldNames() {
  const { t, locale } = useI18n()
  const types = useNodeTypes()

  function ofNode(type: string, field: string): string {
    const known = types.byType.get(type)
    const form = known && formOf(known, locale.value)
    const own = form && [...form.main, ...form.advanced, ...form.failure].find(one => one.name === field)
    return own?.title ?? (OF_DRAWING.has(field) ? t(`editor.fieldName.${field}`) : field)
  }
  /** A name that only the file's author knows stands as it is. */
  function ofWorkflow(field: string): string {
    const label = OF_WORKFLOW[field]
    return label === undefined ? field : t(`editor.details.${label}`)
  }
  return { ofNode, ofWorkflow }
}
