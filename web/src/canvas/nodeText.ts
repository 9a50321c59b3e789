/** What a node says of itself when no run is shown. Pure. */
import { writeJson } from '@/api/json'
import { propertiesOf } from './handles'
import type { GraphNode, NodeType } from '@/api/types'
import { nodeIcon, type IconName } from '@/ui/icons'

type Words = Readonly<Record<string, string>>

/** A type's words in the page's language, else in English. */
export function inLanguage(words: Words, language: string): string {
  return words[language] ?? words['en'] ?? Object.values(words)[0] ?? ''
}

export function iconOf(type: NodeType | undefined): IconName {
  return type ? nodeIcon(type.type, type.icon) : 'moon'
}

const text = (value: unknown) => (typeof value === 'string' ? value.trim() : '')

const known = new WeakMap<NodeType, string[]>()

/** Fields whose value says in a word what kind of its type a node is: the model, the skill, a choice. */
function tellingFields(type: NodeType): string[] {
  let fields = known.get(type)
  if (!fields) {
    fields = Object.entries(propertiesOf(type))
      .filter(([, schema]) => schema['x-editor'] === 'model' || schema['x-editor'] === 'skill' || (Array.isArray(schema['enum']) && !schema['x-advanced']))
      .map(([name]) => name)
    known.set(type, fields)
  }
  return fields
}

/** `LLM · glm-4-plus` */
export function typeLine(node: GraphNode, type: NodeType, language: string): string {
  const told = tellingFields(type).map(field => text(field === 'agentId' ? node.data['agentName'] || node.data[field] : node.data[field])).find(Boolean)
  return told ? `${inLanguage(type.title, language)} · ${told}` : inLanguage(type.title, language)
}

/** What it is for, else what its type does. */
export function purposeOf(node: GraphNode, type: NodeType, language: string): string {
  return text(node.data['description']) || inLanguage(type.summary, language)
}

export function shownLabel(node: GraphNode, type: NodeType | undefined, language: string): string {
  return text(node.data['label']) || (type ? inLanguage(type.title, language) : node.type) || node.id
}

/** One line of a branch: its expression, or its rules. */
export function branchText(branch: unknown): string {
  const { expression, rules } = (typeof branch === 'object' && branch !== null ? branch : {}) as { expression?: unknown, rules?: unknown }
  const items = (typeof rules === 'object' && rules !== null ? (rules as { items?: unknown }).items : undefined)
  if (!Array.isArray(items) || items.length === 0) return text(expression)
  const { match } = rules as { match?: unknown }
  return items.map((item: unknown) => {
    const { variable, operator, value } = (item ?? {}) as Record<string, unknown>
    const shown = value === undefined || value === null ? '' : typeof value === 'string' ? value : writeJson(value)
    return [text(variable), SIGNS[text(operator)] ?? text(operator), shown].filter(Boolean).join(' ')
  }).join(match === 'any' ? ' ∨ ' : ' ∧ ')
}

const SIGNS: Record<string, string> = { eq: '=', ne: '≠', gt: '>', ge: '≥', lt: '<', le: '≤', contains: '∋', notContains: '∌', in: '∈', empty: '= ∅', notEmpty: '≠ ∅' }
