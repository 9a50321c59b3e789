/** What can be chosen for a field: skills, servers, tools, variables. Pure. */
import type { McpServer, McpTool, Skill } from '@/api/types'
import type { Variable } from '../document/variables'

export interface Choice {
  readonly value: string
  readonly title: string
  readonly about?: string
  readonly note?: string
  /** Why it cannot be chosen. */
  readonly refusal?: string
  /** The heading under which it stands with its neighbours. */
  readonly group?: string
}

/** Those in which every word of the search stands; what begins with it comes first. */
export function fitting(choices: readonly Choice[], search: string): readonly Choice[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return choices
  const begins = (choice: Choice) => choice.title.toLowerCase().startsWith(search.trim().toLowerCase())
  return choices.filter((choice) => { const all = `${choice.value} ${choice.title} ${choice.about ?? ''} ${choice.note ?? ''} ${choice.group ?? ''}`.toLowerCase(); return words.every(word => all.includes(word)) })
    .sort((one, other) => Number(begins(other)) - Number(begins(one)))
}

export const skillChoice = (skill: Skill, unusable: string): Choice => ({
  value: skill.id, title: skill.name, about: skill.description, ...(skill.name !== skill.id && { note: skill.id }), ...(!skill.usable && { refusal: unusable }),
})
export const serverChoice = (server: McpServer): Choice => ({ value: server.name, title: server.name, ...(server.url && { about: server.url }) })
export const toolChoice = (tool: McpTool, name: string, words: { readonly changed: string, readonly asks: string }): Choice => ({
  value: name, title: name, about: tool.description, ...(tool.approval && { note: words.asks }), ...(!tool.accepted && { refusal: words.changed }),
})
export const variableChoice = ({ reference, name, nodeLabel, type, note }: Omit<Variable, 'nodeId'>): Choice => ({
  value: reference, title: name, group: nodeLabel, ...(note && { about: note }), ...(type && { note: type }),
})

export interface Argument { readonly name: string, readonly type: string, readonly required: boolean, readonly about: string }

/** What a tool is to be given, as its schema says it. */
export function argumentsOf(tool: McpTool): Argument[] {
  const { properties, required } = tool.inputSchema as { properties?: unknown, required?: unknown }
  if (typeof properties !== 'object' || properties === null) return []
  const needed = Array.isArray(required) ? required : []
  return Object.entries(properties as Record<string, { type?: unknown, description?: unknown } | null>).map(([name, schema]) => ({
    name, type: [schema?.type].flat().filter(type => typeof type === 'string').join(' | '), required: needed.includes(name), about: typeof schema?.description === 'string' ? schema.description : '',
  }))
}
