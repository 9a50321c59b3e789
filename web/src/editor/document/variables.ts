/**
 * Which variables a node may name, and whether a reference names something. Pure; the engine's rules of finding.
 *
 * In AGENTIC mode any node may have run before; in DAG mode those from which a path leads here.
 */
import type { GraphNode, NodeType } from '@/api/types'
import { propertiesOf, traitsOf } from '@/canvas/handles'
import type { Types } from './connecting'
import { labelOf, modeOf, textOf, type GraphDocument } from './document'
import type { Reference } from './references'

export interface Variable {
  /** Without braces: `node-id.name`, or the bare name of an input. */
  readonly reference: string
  readonly name: string
  readonly nodeId: string
  readonly nodeLabel: string
  readonly type?: string
  readonly note?: string
}

export const VISIT_NAMES = ['reason', 'iterSeq', 'fromNode', 'requirements'] as const
/** What a sub-run of an iteration is given without declaring it. */
const GIVEN = new Set(['item', 'index'])

interface Written { readonly name: string, readonly type?: string, readonly note?: string }

function listed(value: unknown): Written[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((item: unknown) => {
    const { name, type, label, description } = (typeof item === 'object' && item !== null ? item : {}) as Record<string, unknown>
    const note = textOf(label) || textOf(description)
    return typeof name === 'string' && name !== '' ? [{ name, ...(typeof type === 'string' && { type }), ...(note && { note }) }] : []
  })
}

/** The variables that a node writes, as far as its drawing tells. */
export function writtenBy(node: GraphNode, type: NodeType | undefined): Written[] {
  if (!type || traitsOf(type).isNote) return []
  const fields = Object.entries(propertiesOf(type))
  const of = (editor: string) => fields.filter(([, schema]) => schema['x-editor'] === editor).flatMap(([field]) => listed(node.data[field]))
  const schema = fields.find(([, one]) => one['x-editor'] === 'schema')?.[0]
  const properties = schema === undefined ? undefined : (node.data[schema] as { properties?: unknown } | null | undefined)?.properties
  const fromSchema = typeof properties === 'object' && properties !== null ? Object.keys(properties).map(name => ({ name })) : []
  const named = fields.some(([field]) => field === 'outputName') && textOf(node.data['outputName'])
  const declared = [...of('variables'), ...(fromSchema.length > 0 ? fromSchema : traitsOf(type).isEnd ? [] : of('outputs'))]
  const written: Written[] = named ? [{ name: named }] : declared.length > 0 ? declared : type.writes.map(name => ({ name }))
  return node.data['failStrategy'] === 'branch' ? [...written, { name: 'error', type: 'object' }] : written
}

/** What a node writes beyond what its drawing tells is not known: a skill's outputs are in its folder. */
function isOpenEnded(type: NodeType | undefined): boolean {
  return !type || type.category === 'agent'
}

function ancestors(document: GraphDocument, nodeId: string): Set<string> {
  const into = new Map<string, string[]>()
  for (const edge of document.edges.values()) into.set(edge.target, [...into.get(edge.target) ?? [], edge.source])
  const found = new Set<string>()
  const queue = [...into.get(nodeId) ?? []]
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    if (found.has(id)) continue
    found.add(id)
    queue.push(...into.get(id) ?? [])
  }
  return found
}

export interface Scope {
  readonly variables: readonly Variable[]
  /** Whether the reference names something that may be there by then. */
  readonly knows: (reference: Reference) => boolean
}

export function scopeOf(document: GraphDocument, types: Types, nodeId: string): Scope {
  const isAgentic = modeOf(document) === 'AGENTIC'
  const before = isAgentic ? undefined : ancestors(document, nodeId)
  const seen = [...document.nodes.values()].filter(node => !before || before.has(node.id))
  const labels = new Map<string, string | undefined>()
  for (const node of document.nodes.values()) {
    const label = textOf(node.data['label']).trim()
    if (label !== '') labels.set(label, labels.has(label) ? undefined : node.id)
  }

  const variables: Variable[] = []
  const keys = new Set<string>()
  const names = new Set<string>()
  const byNode = new Map<string, { names: Set<string>, open: boolean }>()
  for (const node of seen) {
    const type = types.get(node.type)
    const written = writtenBy(node, type)
    const isInput = type?.category === 'input'
    byNode.set(node.id, { names: new Set(written.map(({ name }) => name)), open: isOpenEnded(type) })
    for (const { name, ...more } of written) {
      keys.add(`${node.id}__${name}`)
      names.add(name)
      if (isInput) keys.add(name)
      variables.push({ reference: isInput ? name : `${node.id}.${name}`, name, nodeId: node.id, nodeLabel: labelOf(node), ...more })
    }
  }

  /** A beginning of a reference by names alone: a key, a node's variable, or a bare name. */
  function isNamed(name: string): boolean {
    if (keys.has(name) || names.has(name)) return true
    for (let at = name.length - 2; at > 0; at -= 1) {
      const width = name[at] === '.' ? 1 : name.startsWith('__', at) ? 2 : 0
      if (width === 0) continue
      const head = name.slice(0, at)
      const owner = byNode.get(head) ?? byNode.get(labels.get(head) ?? '')
      const rest = name.slice(at + width)
      if (owner && rest !== '' && (owner.open || owner.names.has(rest) || (rest === 'text' && owner.names.size > 0))) return true
    }
    return false
  }

  function knows(reference: Reference): boolean {
    const [head = '', second = ''] = reference.names
    if (GIVEN.has(head)) return true
    if (head === 'visit' && !document.nodes.has('visit')) return reference.names.length === 2 && (VISIT_NAMES as readonly string[]).includes(second)
    for (let count = reference.names.length; count > 0; count -= 1) if (isNamed(reference.names.slice(0, count).join('.'))) return true
    return false
  }

  return { variables, knows }
}
