/** Why a decision was taken: a planner's and a person's own words as they are, what the server says in the page's language. */
import { useServerText } from '@/api/useServerText'
import type { Decision } from '@/api/types'

export function useReason() {
  const said = useServerText()
  return (decision: Pick<Decision, 'source' | 'reason' | 'method'> | null | undefined): string => {
    if (!decision) return ''
    const isOwn = decision.source === 'person' || (decision.source === 'planner' && !decision.method?.startsWith('likelihood'))
    return isOwn ? decision.reason : said(decision.reason)
  }
}
