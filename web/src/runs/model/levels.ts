/** The nodes of a DAG run by level, and where each lies in the run's time. Pure. */
import type { GraphData } from '@/api/types'
import type { Step } from './runView'

/** A node's level is one more than the highest of those before it. Nodes on a cycle stay where they were reached. */
export function levelsOf(graph: GraphData): ReadonlyMap<string, number> {
  const level = new Map<string, number>()
  const waiting = new Map<string, number>(graph.nodes.map(node => [node.id, 0]))
  for (const edge of graph.edges) waiting.set(edge.target, (waiting.get(edge.target) ?? 0) + 1)
  const queue = graph.nodes.filter(node => waiting.get(node.id) === 0).map(node => node.id)
  for (const id of queue) level.set(id, 1)
  for (let at = 0; at < queue.length; at += 1) {
    const id = queue[at] as string
    for (const edge of graph.edges) {
      if (edge.source !== id) continue
      level.set(edge.target, Math.max(level.get(edge.target) ?? 1, (level.get(id) ?? 1) + 1))
      const left = (waiting.get(edge.target) ?? 1) - 1
      waiting.set(edge.target, left)
      if (left === 0) queue.push(edge.target)
    }
  }
  return level
}

export interface Level { readonly n: number, readonly steps: readonly Step[] }

export function byLevel(steps: readonly Step[], graph: GraphData): Level[] {
  const levels = levelsOf(graph)
  const found = new Map<number, Step[]>()
  for (const step of steps) {
    const n = levels.get(step.nodeId) ?? 1
    found.set(n, [...found.get(n) ?? [], step])
  }
  return [...found].sort(([a], [b]) => a - b).map(([n, own]) => ({ n, steps: own }))
}

export interface Bar { readonly left: number, readonly width: number }

/** Where a step lies in the run's time, in parts of the whole. */
export function barOf(step: Step, startMs: number, wholeMs: number, now: Date): Bar | undefined {
  if (step.startedAt === undefined || wholeMs <= 0) return undefined
  const begin = new Date(step.startedAt).getTime()
  const finish = step.finishedAt === undefined ? now.getTime() : new Date(step.finishedAt).getTime()
  const clamp = (part: number) => Math.min(1, Math.max(0, part))
  const left = clamp((begin - startMs) / wholeMs)
  return { left, width: clamp((finish - begin) / wholeMs) }
}
