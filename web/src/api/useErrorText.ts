/** What to tell a person about a failed call: the server's own words, in the language of the page, and ours where no answer came. */
import { useI18n } from 'vue-i18n'
import type { ApiError } from './errors'
import { useServerText } from './useServerText'

export interface ErrorText { what: string, fix?: string }

export function useErrorText() {
  const { t } = useI18n()
  const said = useServerText()
  return (error: ApiError): ErrorText => {
    switch (error.code) {
      case 'NETWORK': return { what: t('api.network.what'), fix: t('api.network.fix') }
      case 'UNREADABLE': return { what: t('api.unreadable.what', { status: error.status }), fix: t('api.unreadable.fix') }
      case 'UNEXPECTED': return { what: t('api.unexpected.what', { message: error.message }), fix: t('api.unexpected.fix') }
      default: return { what: said(error.message), ...(error.faults[0]?.fix && { fix: said(error.faults[0].fix) }) }
    }
  }
}
