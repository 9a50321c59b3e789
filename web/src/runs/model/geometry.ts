/**
 * The route over the drawing: jumps as free curves between boxes, chips where they can be read. Pure.
 *
 * Jumps leave and arrive at the middle thirds of a node's top or bottom, never at a handle; the side that crosses
 * fewer nodes is taken; what arrives at the same side is spread; a node that visits itself gets a loop at its corner.
 */
import type { RouteLine } from './route'

export interface Box { readonly x: number, readonly y: number, readonly width: number, readonly height: number }
export interface Point { readonly x: number, readonly y: number }

export interface DrawnJump {
  readonly line: RouteLine
  readonly d: string
  readonly chip: Point
}

type Side = 'top' | 'bottom'
interface Ends { readonly line: RouteLine, readonly from: Side, readonly to: Side }

const SPREAD = 24
const LEAST = 48
const MOST = 180

export function jumps(lines: readonly RouteLine[], boxes: ReadonlyMap<string, Box>): DrawnJump[] {
  const free = lines.filter(line => line.kind === 'jump' && boxes.has(line.from) && boxes.has(line.to))
  const chosen = free.filter(line => line.from !== line.to).map(line => ends(line, boxes))
  const places = spread(chosen)
  const pairs = new Map<string, number>()
  const curves = chosen.map((one): DrawnJump => {
    const [from, to] = [boxes.get(one.line.from) as Box, boxes.get(one.line.to) as Box]
    const pair = [one.line.from, one.line.to].sort().join('\n') + one.from + one.to
    const before = pairs.get(pair) ?? 0
    pairs.set(pair, before + 1)
    const curve = bend(at(from, one.from, places.get(`${one.line.id} from`) ?? 0), at(to, one.to, places.get(`${one.line.id} to`) ?? 0), one, before * SPREAD)
    return { line: one.line, d: path(curve), chip: pointOn(curve, 0.5) }
  })
  return [...curves, ...free.filter(line => line.from === line.to).map(line => loop(line, boxes.get(line.from) as Box))]
}

type Curve = readonly [Point, Point, Point, Point]

/** Top to top or bottom to bottom, or between the sides that face each other where one node lies wholly above the other. */
function ends(line: RouteLine, boxes: ReadonlyMap<string, Box>): Ends {
  const [from, to] = [boxes.get(line.from) as Box, boxes.get(line.to) as Box]
  const ways: Ends[] = [{ line, from: 'top', to: 'top' }, { line, from: 'bottom', to: 'bottom' }]
  const [above, below] = [from.y - to.y - to.height, to.y - from.y - from.height]
  // Facing sides make a flat, unreadable curve unless the nodes lie well apart.
  const steep = Math.max(above, below) > Math.abs(to.x - from.x) * 0.4
  if (steep && above > 24) ways.unshift({ line, from: 'top', to: 'bottom' })
  if (steep && below > 24) ways.unshift({ line, from: 'bottom', to: 'top' })
  const others = [...boxes].filter(([id]) => id !== line.from && id !== line.to).map(([, box]) => box)
  const crossings = ways.map(way => crossed(bend(at(from, way.from, 0), at(to, way.to, 0), way, 0), others))
  return ways[crossings.indexOf(Math.min(...crossings))] as Ends
}

function crossed(curve: Curve, boxes: readonly Box[]): number {
  const points = Array.from({ length: 17 }, (_, index) => pointOn(curve, index / 16))
  return boxes.filter(box => points.some(({ x, y }) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height)).length
}

/** Where lines that share a node's side stand, left to right by where their other end lies. */
function spread(chosen: readonly Ends[]): ReadonlyMap<string, number> {
  const sides = new Map<string, string[]>()
  for (const { line, from, to } of chosen) {
    for (const [node, side, end] of [[line.from, from, 'from'], [line.to, to, 'to']] as const) {
      const key = `${node}\n${side}`
      sides.set(key, [...sides.get(key) ?? [], `${line.id} ${end}`])
    }
  }
  return new Map([...sides.values()].flatMap(names => names.map((name, index): [string, number] => [name, (index - (names.length - 1) / 2) * SPREAD])))
}

function at(box: Box, side: Side, offset: number): Point {
  const third = box.width / 6
  return { x: box.x + box.width / 2 + Math.max(-third, Math.min(third, offset)), y: side === 'top' ? box.y - 2 : box.y + box.height + 2 }
}

function bend(start: Point, goal: Point, { from, to }: { from: Side, to: Side }, more: number): Curve {
  if (from !== to) {
    const pull = Math.max(LEAST, Math.abs(goal.y - start.y) * 0.55)
    const [a, b] = from === 'top' ? [-pull, pull] : [pull, -pull]
    return [start, { x: start.x, y: start.y + a }, { x: goal.x, y: goal.y + b }, goal]
  }
  const height = Math.min(MOST, Math.max(LEAST, 0.35 * Math.hypot(goal.x - start.x, goal.y - start.y))) + more
  const edge = from === 'top' ? Math.min(start.y, goal.y) - height * 4 / 3 : Math.max(start.y, goal.y) + height * 4 / 3
  return [start, { x: start.x, y: edge }, { x: goal.x, y: edge }, goal]
}

function loop(line: RouteLine, box: Box): DrawnJump {
  const [right, top] = [box.x + box.width, box.y]
  const curve: Curve = [{ x: right - 26, y: top - 2 }, { x: right - 26, y: top - 38 }, { x: right + 38, y: top - 22 }, { x: right + 4, y: top + 16 }]
  return { line, d: path(curve), chip: pointOn(curve, 0.45) }
}

function pointOn([a, b, c, d]: Curve, t: number): Point {
  const s = 1 - t
  const mix = (p: number, q: number, r: number, w: number) => s * s * s * p + 3 * s * s * t * q + 3 * s * t * t * r + t * t * t * w
  return { x: mix(a.x, b.x, c.x, d.x), y: mix(a.y, b.y, c.y, d.y) }
}

const round = (value: number) => Math.round(value * 10) / 10
function path([a, b, c, d]: Curve): string {
  const point = ({ x, y }: Point) => `${round(x)} ${round(y)}`
  return `M${point(a)}C${point(b)} ${point(c)} ${point(d)}`
}

/** Steps at full strength: the last ten. A line is as strong as the latest step along it. */
export function isRecent(line: RouteLine, last: number): boolean {
  return (line.visits.at(-1) ?? 0) > last - 10
}

