/** How node types are called: as the server names them, in the language of the page. */
import { useI18n } from 'vue-i18n'
import { inLanguage } from '@/canvas/nodeText'
import { useNodeTypes } from '@/editor/nodeTypes'

export function useTypeNames() {
  const types = useNodeTypes()
  const { locale } = useI18n()
  // Without the names the types' own ids are shown.
  types.load().catch(() => undefined)
  return (type: string): string => {
    const known = types.byType.get(type)
    return known ? inLanguage(known.title, locale.value) : type
  }
}
