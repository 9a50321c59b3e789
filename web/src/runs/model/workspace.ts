/** The variables of a workspace as rows: the latest written first, each with what a visit did to it. Pure. */
import { writeJson } from '@/api/json'
import type { Step } from './runView'

export type Mark = 'added' | 'overwritten' | 'unchanged'
export interface VariableRow { readonly name: string, readonly value: unknown, readonly mark: Mark, readonly writer?: { readonly n: number, readonly step: Step } }

/** `B__` and `outline` of `B__outline`, where a node of the run is called so. */
export function splitName(name: string, nodeIds: ReadonlySet<string>): { prefix: string, rest: string } {
  for (let at = name.indexOf('__'); at > 0; at = name.indexOf('__', at + 1)) {
    if (nodeIds.has(name.slice(0, at))) return { prefix: name.slice(0, at + 2), rest: name.slice(at + 2) }
  }
  return { prefix: '', rest: name }
}

export function variableRows(variables: Readonly<Record<string, unknown>>, steps: readonly Step[], at: Step): VariableRow[] {
  const place = steps.findIndex(step => step.key === at.key)
  const writers = new Map<string, { n: number, step: Step }>()
  for (const [index, step] of steps.slice(0, place + 1).entries()) {
    for (const name of [...step.changed?.added ?? [], ...step.changed?.overwritten ?? []]) writers.set(name, { n: index + 1, step })
  }
  const [added, overwritten] = [new Set(at.changed?.added), new Set(at.changed?.overwritten)]
  return Object.entries(variables).reverse().map(([name, value]) => {
    const writer = writers.get(name)
    return { name, value, mark: added.has(name) ? 'added' as const : overwritten.has(name) ? 'overwritten' as const : 'unchanged' as const, ...(writer && { writer }) }
  })
}

export function matches(row: VariableRow, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const inside = `${row.name} ${typeof row.value === 'string' ? row.value : writeJson(row.value)}`.toLowerCase()
  return words.every(word => inside.includes(word))
}

/** How many variables a step left as they were: known from what all steps before it wrote. */
export function unchangedCount(steps: readonly Step[], at: Step, inputs: readonly string[]): number {
  const names = new Set(inputs)
  for (const step of steps) {
    for (const name of [...step.changed?.added ?? [], ...step.changed?.overwritten ?? []]) names.add(name)
    if (step.key === at.key) break
  }
  return Math.max(0, names.size - (at.changed?.added.length ?? 0) - (at.changed?.overwritten.length ?? 0))
}
