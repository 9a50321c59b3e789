/** Workflow documents for journeys: a builder that says only what matters, and the few that several journeys use. */

export interface Document {
  name: string
  mode: 'AGENTIC' | 'DAG'
  description?: string
  maxVisits?: number
  graphData: { nodes: DrawnNode[], edges: DrawnEdge[] }
  script?: ScriptPart[]
}
export interface DrawnNode { id: string, type: string, position: { x: number, y: number }, data: Record<string, unknown> }
export interface DrawnEdge { id: string, source: string, target: string, sourceHandle: string }
export interface ScriptPart { for: { node: string } | { role: 'planner' }, replies: Reply[], repeatLast?: boolean }
export type Reply = { delayMs?: number } & (
  { text: string } | { stream: string[], everyMs?: number } | { branch: string } | { next: string, reason: string } | { httpError: number } | { hang: true } | { tool: { name: string, args: unknown } } | { echoLastAnswer: string }
)

export function node(id: string, type: string, x: number, y: number, data: Record<string, unknown> = {}): DrawnNode {
  return { id, type, position: { x, y }, data }
}

/** `"a -> b"`, or `"a:branch-1 -> b"` for a handle that is not the plain output. */
export function edges(...drawn: string[]): DrawnEdge[] {
  return drawn.map((text) => {
    const [from = '', target = ''] = text.split(' -> ')
    const [source = '', sourceHandle = 'output'] = from.split(':')
    return { id: `e-${source}-${sourceHandle}-${target}`, source, target, sourceHandle }
  })
}

export const planner = (...replies: [next: string, reason: string][]): ScriptPart => ({
  for: { role: 'planner' }, replies: replies.map(([next, reason]) => ({ next, reason, delayMs: 40 })),
})
export const answers = (id: string, ...texts: string[]): ScriptPart => ({
  for: { node: id }, replies: texts.map(text => ({ text })), repeatLast: true,
})

/** Runs in a blink and has every kind of step: drawn, revisited along an edge, jumped, jumped to itself. */
export const letter = (name = 'Letter desk'): Document => ({
  name,
  mode: 'AGENTIC',
  description: 'Writes a letter, reads it again and is hard to please.',
  maxVisits: 12,
  graphData: {
    nodes: [
      node('ask', 'userInput', 0, 120, { label: 'Ask', description: 'Who the letter is for', variables: [{ name: 'who', label: 'For whom?', type: 'string', required: true, default: 'Ada' }] }),
      node('draft', 'llm', 280, 120, { label: 'Draft', description: 'Write the letter', userPrompt: 'A letter to {{who}}. {{read.text?}}' }),
      node('read', 'llm', 560, 120, { label: 'Read', description: 'Find what is missing', userPrompt: 'What is missing in {{draft.text}}' }),
      node('send', 'output', 840, 120, { label: 'Send', description: 'Hand the letter over', outputType: 'text', template: '{{draft.text}}' }),
    ],
    edges: edges('ask -> draft', 'draft -> read', 'read -> send'),
  },
  script: [
    answers('draft', 'Dear Ada, come.', 'Dear Ada, come on Friday.', 'Dear Ada, come on Friday at six.'),
    answers('read', 'The day is missing.', 'The hour is missing.'),
    planner(
      ['draft', 'The name is known: write.'],
      ['read', 'A draft is there: read it.'],
      ['draft', 'The day is missing, and no line leads back: write again.'],
      ['read', 'Written again: read it again.'],
      ['draft', 'The hour is missing too.'],
      ['send', 'Day and hour are named: send it.'],
    ),
  ],
})
