/**
 * By which handles a node is left. Pure.
 *
 * A type with branches has one for each, by position, and one for ELSE; one with actions has one for each action; any
 * node that goes on by its `error` edge has that. Which of these a type has is told by the editors of its fields.
 */
import type { GraphNode, NodeType } from '@/api/types'

export const OUTPUT_HANDLE = 'output'
export const ERROR_HANDLE = 'error'
export const TIMEOUT_HANDLE = 'timeout'
/** The handle by which every node is entered. */
export const ENTRY_HANDLE = 'input'

export type HandleName = { kind: 'plain' } | { kind: 'if' } | { kind: 'elif', n: number } | { kind: 'else' } | { kind: 'error' } | { kind: 'timeout' } | { kind: 'text', text: string }
export interface SourceHandle { readonly id: string, readonly name: HandleName, /** Not offered by the node, but an edge leaves by it. */ readonly lost?: true }

export interface TypeTraits {
  /** Only drawn, never run. */
  readonly isNote: boolean
  readonly isEnd: boolean
  readonly branchesField?: string
  readonly actionsField?: string
}

const NO_TRAITS: TypeTraits = { isNote: false, isEnd: false }
const known = new WeakMap<NodeType, TypeTraits>()

export function traitsOf(type: NodeType | undefined): TypeTraits {
  if (!type) return NO_TRAITS
  let traits = known.get(type)
  if (!traits) {
    const field = (editor: string) => Object.entries(propertiesOf(type)).find(([, schema]) => schema['x-editor'] === editor)?.[0]
    const [branches, actions] = [field('conditions'), field('actions')]
    traits = { isNote: !type.runs, isEnd: type.category === 'output', ...(branches && { branchesField: branches }), ...(actions && { actionsField: actions }) }
    known.set(type, traits)
  }
  return traits
}

export function propertiesOf(type: NodeType): Record<string, Record<string, unknown>> {
  const properties = type.configSchema['properties']
  return typeof properties === 'object' && properties !== null && !Array.isArray(properties) ? properties as Record<string, Record<string, unknown>> : {}
}

export const branchHandle = (index: number) => `branch-${index}`

export function branchIndex(handle: string): number | undefined {
  const match = /^branch-(\d{1,4})$/.exec(handle)
  return match ? Number(match[1]) : undefined
}

/** How many branches a node has without ELSE; an empty list still shows IF. */
export function branchCount(node: GraphNode, field: string): number {
  const list = node.data[field]
  return Math.max(Array.isArray(list) ? list.length : 0, 1)
}

function offered(node: GraphNode, traits: TypeTraits): SourceHandle[] {
  if (traits.isNote || traits.isEnd) return []
  if (traits.branchesField !== undefined) {
    const count = branchCount(node, traits.branchesField)
    const branches = Array.from({ length: count }, (_, n): SourceHandle => ({ id: branchHandle(n), name: n === 0 ? { kind: 'if' } : { kind: 'elif', n } }))
    return [...branches, { id: branchHandle(count), name: { kind: 'else' } }]
  }
  const actions = traits.actionsField === undefined ? [] : actionsOf(node, traits.actionsField)
  if (actions.length === 0) return [{ id: OUTPUT_HANDLE, name: { kind: 'plain' } }]
  const timeout: SourceHandle[] = node.data['timeout'] ? [{ id: TIMEOUT_HANDLE, name: { kind: 'timeout' } }] : []
  return [...actions, ...timeout]
}

function actionsOf(node: GraphNode, field: string): SourceHandle[] {
  const actions: unknown = node.data[field]
  if (!Array.isArray(actions)) return []
  return actions.flatMap((action: unknown): SourceHandle[] => {
    const { id, label } = (typeof action === 'object' && action !== null ? action : {}) as Record<string, unknown>
    return typeof id === 'string' ? [{ id: `action-${id}`, name: { kind: 'text', text: typeof label === 'string' && label !== '' ? label : id } }] : []
  })
}

/** The handles of a node, those included by which edges leave though the node has them no longer. */
export function handlesOf(node: GraphNode, type: NodeType | undefined, inUse: readonly string[] = []): SourceHandle[] {
  const handles = offered(node, traitsOf(type))
  if (node.data['failStrategy'] === 'branch' && handles.length > 0) handles.push({ id: ERROR_HANDLE, name: { kind: 'error' } })
  const lost = inUse.filter(id => !handles.some(handle => handle.id === id))
  return [...handles, ...[...new Set(lost)].map((id): SourceHandle => ({ id, name: { kind: 'text', text: id }, lost: true }))]
}

export function sourceHandleOf(edge: { sourceHandle?: string | null }): string {
  return edge.sourceHandle || OUTPUT_HANDLE
}
