import { describe, expect, it } from 'vitest'
import type { WorkflowSummary } from '@/api/types'
import { fileName, listed } from './listing'

function workflow(id: string, name: string, mode: 'DAG' | 'AGENTIC', updatedAt: string): WorkflowSummary {
  return { id, name, mode, updatedAt, description: `about ${name}`, lastRuns: name === 'Paper desk' ? [{ createdAt: '2026-02-01' }] : [] } as WorkflowSummary
}
const items = [workflow('1', 'Paper desk', 'AGENTIC', '2026-01-01'), workflow('2', '周报助手', 'DAG', '2026-01-03'), workflow('3', 'Invoices', 'DAG', '2026-01-02')]
const ids = (found: WorkflowSummary[]) => found.map(item => item.id).join('')
const plain = { text: '', mode: 'all', order: 'changed' } as const

describe('the list of workflows', () => {
  it('has the last changed first', () => {
    expect(ids(listed(items, plain))).toBe('231')
  })
  it('can have the last run first', () => {
    expect(ids(listed(items, { ...plain, order: 'ran' }))).toBe('123')
  })
  it('keeps what holds every word, in any script', () => {
    expect(ids(listed(items, { ...plain, text: 'desk paper' }))).toBe('1')
    expect(ids(listed(items, { ...plain, text: '周报' }))).toBe('2')
  })
  it('keeps one mode', () => {
    expect(ids(listed(items, { ...plain, mode: 'DAG' }))).toBe('23')
  })
})

describe('the file of an exported workflow', () => {
  it.each([['Weekly report · 周报助手', 'Weekly report · 周报助手.json'], ['a/b:c?', 'a b c.json'], ['///', 'workflow.json']])('of %s is %s', (name, file) => {
    expect(fileName(name)).toBe(file)
  })
})
