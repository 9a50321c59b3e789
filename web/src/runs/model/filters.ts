/** The filters of the run history, as they stand in the address and as the API takes them. Pure. */
export const RUN_STATUSES = ['RUNNING', 'PAUSED', 'PENDING', 'SUCCESS', 'FAILED', 'CANCELLED'] as const
export type FilterStatus = typeof RUN_STATUSES[number]

export interface RunFilters { readonly q: string, readonly status: FilterStatus | '', readonly mode: 'DAG' | 'AGENTIC' | '', readonly since: string, readonly until: string }
export const NO_FILTERS: RunFilters = { q: '', status: '', mode: '', since: '', until: '' }

type Query = Record<string, string | null | (string | null)[] | undefined>
const one = (value: Query[string]) => (typeof value === 'string' ? value : '')
/** A local date and time as the browser's own field gives it. */
const isMoment = (value: string) => /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/.test(value)

export function readFilters(query: Query): RunFilters {
  const [status, mode, since, until] = [one(query['status']), one(query['mode']), one(query['since']), one(query['until'])]
  return {
    q: one(query['q']).slice(0, 200),
    status: RUN_STATUSES.find(known => known === status) ?? '',
    mode: mode === 'DAG' || mode === 'AGENTIC' ? mode : '',
    since: isMoment(since) ? since : '', until: isMoment(until) ? until : '',
  }
}

/** What stands in the address: nothing for what is not filtered. */
export function toAddress(filters: RunFilters): Record<string, string> {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''))
}

export function toApi(filters: RunFilters): { q?: string, status?: FilterStatus[], mode?: 'DAG' | 'AGENTIC', since?: string, until?: string } {
  const moment = (local: string) => new Date(local).toISOString()
  return {
    ...(filters.q.trim() !== '' && { q: filters.q.trim() }), ...(filters.status !== '' && { status: [filters.status] }), ...(filters.mode !== '' && { mode: filters.mode }),
    ...(filters.since !== '' && { since: moment(filters.since) }), ...(filters.until !== '' && { until: moment(filters.until) }),
  }
}
