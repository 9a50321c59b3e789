import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readFilters, RUN_STATUSES, toAddress, toApi, type RunFilters } from './filters'

describe('the filters of the run history', () => {
  it('come back from the address as they went there', () => {
    const filters = fc.record<RunFilters>({
      q: fc.string({ maxLength: 200 }), status: fc.constantFrom('', ...RUN_STATUSES), mode: fc.constantFrom('', 'DAG', 'AGENTIC'),
      since: fc.constantFrom('', '2026-11-30T09:05'), until: fc.constantFrom('', '2026-12-01T00:00'),
    })
    fc.assert(fc.property(filters, (given) => { expect(readFilters(toAddress(given))).toEqual(given) }))
  })
  it('ignore what an address cannot mean', () => {
    expect(readFilters({ status: 'LOST', mode: ['DAG'], since: 'yesterday', q: null })).toEqual({ q: '', status: '', mode: '', since: '', until: '' })
  })
  it('are told to the API without what is not filtered, times in UTC', () => {
    expect(toApi({ q: ' paper ', status: 'FAILED', mode: '', since: '2026-11-30T09:05', until: '' })).toEqual({ q: 'paper', status: ['FAILED'], since: new Date('2026-11-30T09:05').toISOString() })
  })
})
