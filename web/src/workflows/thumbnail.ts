/**
 * A graph as a small drawing: boxes with their type's icon, edges, and the jumps that its script takes. Pure.
 *
 * Positions are scaled into the picture and pushed apart until boxes do not touch; what would be too small
 * to read (more than 14 nodes) is drawn without icons.
 */
import type { GraphData } from '@/api/types'

export interface Box { id: string, type: string, x: number, y: number }
export interface Thumbnail { boxes: Box[], edges: string[], jumps: string[], width: number, height: number, scale: number }

export const BOX = { width: 46, height: 22 }
const PICTURE = { width: 268, height: 112, marginX: 31 }
/** Room above and below the boxes, and where jumps pass. */
const MARGIN = { plain: 24, top: 37, bottom: 33 }

/** Pairs of nodes between which the scripted planner jumps without a drawn edge. */
export function scriptedJumps(graph: GraphData, script: unknown): [string, string][] {
  const start = graph.nodes.find(node => node.type === 'userInput')?.id
  if (start === undefined || !Array.isArray(script)) return []
  const drawn = new Set(graph.edges.map(edge => `${edge.source}→${edge.target}`))
  const jumps = new Map<string, [string, string]>()
  let from = start
  for (const next of plannerSteps(script)) {
    const pair = `${from}→${next}`
    if (!drawn.has(pair)) jumps.set(pair, [from, next])
    from = next
  }
  return [...jumps.values()]
}

function plannerSteps(script: unknown[]): string[] {
  const planner = script.find((part): part is { replies: unknown } => (part as { for?: { role?: unknown } } | null)?.for?.role === 'planner')
  if (!planner || !Array.isArray(planner.replies)) return []
  return planner.replies.flatMap((reply: unknown) => {
    const next = (reply as { next?: unknown } | null)?.next
    return typeof next === 'string' ? [next] : []
  })
}

export function thumbnail(graph: GraphData, jumpPairs: readonly [string, string][] = []): Thumbnail {
  const nodes = graph.nodes.filter(node => node.type !== 'note')
  const xs = places(nodes.map(node => node.position?.x ?? 0))
  const ys = places(nodes.map(node => node.position?.y ?? 0))
  const columns = (PICTURE.width - 2 * PICTURE.marginX) / Math.max(1, xs.count - 1)
  const yOf = new Map(nodes.map((node, index) => [node.id, ys.of[index] ?? 0]))
  const isBelow = ([from, to]: readonly [string, string]) => (yOf.get(from) ?? 0) > (yOf.get(to) ?? 0)
  const top = jumpPairs.some(pair => !isBelow(pair)) ? MARGIN.top : MARGIN.plain
  const bottom = PICTURE.height - (jumpPairs.some(isBelow) ? MARGIN.bottom : MARGIN.plain)
  const rows = (bottom - top) / Math.max(1, ys.count - 1)
  const scale = Math.min(1, 0.68 * columns / BOX.width, 0.8 * rows / BOX.height)
  const boxes = nodes.map((node, index): Box => ({
    id: node.id, type: node.type,
    x: spread(xs.of[index] ?? 0, xs.count, PICTURE.marginX, PICTURE.width - PICTURE.marginX),
    y: spread(ys.of[index] ?? 0, ys.count, top, bottom),
  }))
  const byId = new Map(boxes.map(box => [box.id, box]))
  const between = (pairs: readonly (readonly [string, string])[], path: (a: Box, b: Box) => string) => pairs.flatMap(([source, target]) => {
    const a = byId.get(source)
    const b = byId.get(target)
    return a && b ? [path(a, b)] : []
  })
  return {
    boxes,
    edges: between(graph.edges.map(edge => [edge.source, edge.target]), (a, b) => edgePath(a, b, scale)),
    jumps: between(jumpPairs, (a, b) => jumpPath(a, b, scale)),
    width: PICTURE.width, height: PICTURE.height, scale,
  }
}

/** Columns (or rows): values closer than a node's width share one; each value's place, and how many there are. */
function places(values: number[]): { of: number[], count: number } {
  const sorted = [...new Set(values)].sort((a, b) => a - b)
  const rank = new Map<number, number>()
  let place = 0
  sorted.forEach((value, index) => {
    const before = sorted[index - 1]
    if (before !== undefined && value - before > 60) place += 1
    rank.set(value, place)
  })
  return { of: values.map(value => rank.get(value) ?? 0), count: place + 1 }
}

function spread(place: number, count: number, from: number, to: number): number {
  return count === 1 ? (from + to) / 2 : from + (to - from) * place / (count - 1)
}

const round = (value: number) => Math.round(value * 10) / 10

function edgePath(a: Box, b: Box, scale: number): string {
  const half = BOX.width * scale / 2
  const [x1, y1, x2, y2] = [a.x + half, a.y, b.x - half, b.y].map(round) as [number, number, number, number]
  if (y1 === y2 && x2 > x1) return `M${x1} ${y1}H${x2}`
  if (x2 <= x1) return `M${x1} ${y1}C${x1 + 16} ${y1} ${x2 - 16} ${y2} ${x2} ${y2}`
  const middle = round((x1 + x2) / 2)
  const r = Math.min(6, Math.abs(y2 - y1) / 2, (x2 - x1) / 2)
  const down = y2 > y1 ? r : -r
  return `M${x1} ${y1}H${middle - r}Q${middle} ${y1} ${middle} ${y1 + down}V${y2 - down}Q${middle} ${y2} ${middle + r} ${y2}H${x2}`
}

/** A free curve from the top of one box to the top of the other; below both when it starts lower than it ends. */
function jumpPath(a: Box, b: Box, scale: number): string {
  const half = BOX.height * scale / 2
  const side = a.y > b.y ? 1 : -1
  if (a.id === b.id) return `M${round(a.x + 8)} ${round(a.y - half)}c2 -16 16 -16 14 2`
  const height = Math.min(34, Math.max(20, Math.abs(a.x - b.x) * 0.22))
  // Three quarters of the way to its control points is as far as such a curve goes.
  const edge = side < 0 ? Math.min(a.y, b.y) - half : Math.max(a.y, b.y) + half
  const room = side < 0 ? edge - 4 : PICTURE.height - 2 - edge
  const y = edge + side * Math.min(height, room / 0.75)
  return `M${round(a.x - 5)} ${round(a.y + side * half)}C${round(a.x - 5)} ${round(y)} ${round(b.x + 5)} ${round(y)} ${round(b.x + 5)} ${round(b.y + side * (half + 3))}`
}
