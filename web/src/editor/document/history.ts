/**
 * Edits as what they changed, and undoing them. Pure.
 *
 * An edit is read off two documents, so every command is a function from document to document, and undo is free.
 * Undo ends at the document that was opened. Edits with the same `mergeKey` that follow each other are one step
 * until the step is closed (a pause in typing, another field).
 */
import type { GraphEdge, GraphNode } from '@/api/types'
import { sameJson, type GraphDocument, type Head } from './document'

/** The words of an edit: a key of the locale and what it is filled with. */
export interface EditLabel { readonly key: string, readonly name?: string, readonly count?: number }

interface Change<T> { readonly id: string, readonly before?: T, readonly after?: T, /** Its place in the list where it is. */ readonly at?: number }

export interface Edit {
  readonly label: EditLabel
  readonly mergeKey?: string
  readonly nodes: readonly Change<GraphNode>[]
  readonly edges: readonly Change<GraphEdge>[]
  readonly order?: { readonly before: readonly string[], readonly after: readonly string[] }
  readonly head?: { readonly before: Head, readonly after: Head }
}

export interface History {
  readonly document: GraphDocument
  readonly past: readonly Edit[]
  readonly future: readonly Edit[]
  /** Whether the last step may still grow. */
  readonly open: boolean
}

export function openHistory(document: GraphDocument): History {
  return { document, past: [], future: [], open: false }
}

function changesBetween<T>(before: ReadonlyMap<string, T>, after: ReadonlyMap<string, T>): Change<T>[] {
  if (before === after) return []
  const changes: Change<T>[] = []
  let at = 0
  for (const [id, value] of before) {
    const next = after.get(id)
    if (next === undefined) changes.push({ id, before: value, at })
    else if (!sameJson(value, next)) changes.push({ id, before: value, after: next })
    at += 1
  }
  at = 0
  for (const [id, value] of after) {
    if (!before.has(id)) changes.push({ id, after: value, at })
    at += 1
  }
  return changes
}

function orderBetween(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): Edit['order'] {
  if (before.size !== after.size) return undefined
  const [was, is] = [[...before.keys()], [...after.keys()]]
  return was.some((id, index) => id !== is[index]) && was.every(id => after.has(id)) ? { before: was, after: is } : undefined
}

/** What makes one document of another, or nothing where they are the same. */
export function editBetween(before: GraphDocument, after: GraphDocument, label: EditLabel, mergeKey?: string): Edit | undefined {
  const nodes = changesBetween(before.nodes, after.nodes)
  const edges = changesBetween(before.edges, after.edges)
  const order = orderBetween(before.nodes, after.nodes)
  const head = sameJson(before.head, after.head) ? undefined : { before: before.head, after: after.head }
  if (nodes.length === 0 && edges.length === 0 && !order && !head) return undefined
  return { label, nodes, edges, ...(mergeKey !== undefined && { mergeKey }), ...(order && { order }), ...(head && { head }) }
}

function replay<T>(items: ReadonlyMap<string, T>, changes: readonly Change<T>[], from: 'before' | 'after', to: 'before' | 'after'): ReadonlyMap<string, T> {
  if (changes.length === 0) return items
  const next = new Map(items)
  const entering = changes.filter(change => change[from] === undefined).sort((a, b) => (a.at ?? 0) - (b.at ?? 0))
  for (const change of changes) {
    const value = change[to]
    if (value === undefined) next.delete(change.id)
    else if (change[from] !== undefined) next.set(change.id, value)
  }
  if (entering.length === 0) return next
  const list = [...next]
  for (const change of entering) list.splice(change.at ?? list.length, 0, [change.id, change[to] as T])
  return new Map(list)
}

function reordered<T>(items: ReadonlyMap<string, T>, ids: readonly string[] | undefined): ReadonlyMap<string, T> {
  return ids ? new Map(ids.flatMap(id => (items.has(id) ? [[id, items.get(id) as T]] : []))) : items
}

function apply(document: GraphDocument, edit: Edit, to: 'before' | 'after'): GraphDocument {
  const from = to === 'before' ? 'after' : 'before'
  return {
    ...document,
    head: edit.head?.[to] ?? document.head,
    nodes: reordered(replay(document.nodes, edit.nodes, from, to), edit.order?.[to]),
    edges: replay(document.edges, edit.edges, from, to),
  }
}

function joinChanges<T>(first: readonly Change<T>[], second: readonly Change<T>[]): Change<T>[] {
  const joined = new Map(first.map(change => [change.id, change]))
  for (const change of second) {
    const before = joined.get(change.id)
    joined.set(change.id, before ? { ...before, ...(change.after !== undefined && { after: change.after }) } : change)
  }
  return [...joined.values()].filter(change => !sameJson(change.before, change.after))
}

const isUpdate = (change: Change<unknown>) => change.before !== undefined && change.after !== undefined
const onlyUpdates = (edit: Edit) => !edit.order && [...edit.nodes, ...edit.edges].every(isUpdate)

function join(first: Edit, second: Edit): Edit | undefined {
  if (first.mergeKey === undefined || first.mergeKey !== second.mergeKey || !onlyUpdates(first) || !onlyUpdates(second)) return undefined
  const head = second.head ? { before: first.head?.before ?? second.head.before, after: second.head.after } : first.head
  return { label: second.label, mergeKey: first.mergeKey, nodes: joinChanges(first.nodes, second.nodes), edges: joinChanges(first.edges, second.edges), ...(head && { head }) }
}

export function perform(history: History, edit: Edit): History {
  const document = apply(history.document, edit, 'after')
  const last = history.past.at(-1)
  const joined = history.open && last ? join(last, edit) : undefined
  return { document, past: joined ? [...history.past.slice(0, -1), joined] : [...history.past, edit], future: [], open: edit.mergeKey !== undefined }
}

export function closeStep(history: History): History {
  return history.open ? { ...history, open: false } : history
}

export function undo(history: History): History {
  const edit = history.past.at(-1)
  if (!edit) return history
  return { document: apply(history.document, edit, 'before'), past: history.past.slice(0, -1), future: [...history.future, edit], open: false }
}

export function redo(history: History): History {
  const edit = history.future.at(-1)
  if (!edit) return history
  return { document: apply(history.document, edit, 'after'), past: [...history.past, edit], future: history.future.slice(0, -1), open: false }
}

/** The nodes that an edit touched, to be shown after undo and redo. */
export function touched(edit: Edit): string[] {
  return edit.nodes.map(change => change.id)
}
