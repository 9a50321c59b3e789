/** Names of handles as they stand on the canvas: `IF`, `ELIF 1`, `ELSE`, `error`. */
import { useI18n } from 'vue-i18n'
import type { SourceHandle } from './handles'

export function useHandleNames() {
  const { t } = useI18n()
  return ({ name }: SourceHandle): string => {
    switch (name.kind) {
      case 'if': return 'IF'
      case 'elif': return `ELIF ${name.n}`
      case 'else': return 'ELSE'
      case 'text': return name.text
      case 'plain': return t('canvas.handle.plain')
      case 'error': return t('canvas.handle.error')
      case 'timeout': return t('canvas.handle.timeout')
    }
  }
}
