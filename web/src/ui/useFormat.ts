/** The formats of `format.ts`, bound to the language of the page. */
import { useI18n } from 'vue-i18n'
import * as format from './format'

export function useFormat() {
  const { locale } = useI18n()
  const language = () => locale.value as format.Language
  return {
    duration: (ms: number) => format.formatDuration(ms, language()),
    number: (value: number) => format.formatNumber(value, language()),
    tokens: (value: number) => format.formatTokens(value, language()),
    tokenPace: (perSecond: number) => format.formatTokenPace(perSecond, language()),
    bytes: format.formatBytes,
    cost: (cost: number, currency?: string | null) => format.formatCost(cost, currency, language()),
    relative: (then: Date, now: Date) => format.formatRelative(then, now, language()),
    exact: (then: Date) => format.formatExact(then, language()),
  }
}
