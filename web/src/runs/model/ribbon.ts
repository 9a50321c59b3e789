/** The route as a line: where its stops stand, which segments join them, which arcs lead back. Pure. */
import type { Route, RouteStop } from './route'

export interface RibbonStop { readonly stop: RouteStop, readonly x: number, readonly showsNumber: boolean }
export interface RibbonSegment { readonly n: number, readonly x1: number, readonly x2: number, readonly kind: 'drawn' | 'jump' }
export interface RibbonArc { readonly n: number, readonly d: string }
export interface Ribbon {
  readonly stops: readonly RibbonStop[]
  readonly segments: readonly RibbonSegment[]
  readonly arcs: readonly RibbonArc[]
  /** Stops are dots, with numbers at 1, 10, 20 … */
  readonly dots: boolean
  readonly labels: boolean
  /** The y of the line. */
  readonly y: number
}

const MOST_NUMBERED = 30
const LABEL_PX = 44

export interface RibbonSize { width: number, inset?: number, tallest?: number, radius?: number }

export function ribbon(route: Route, { width, inset = 24, tallest = 40, radius = 10 }: RibbonSize): Ribbon {
  const count = route.stops.length
  const step = count > 1 ? Math.min(140, (width - 2 * inset) / (count - 1)) : 0
  const dots = count > MOST_NUMBERED || (count > 1 && step < 2 * radius + 2)
  const r = dots ? 4 : radius
  const x = (n: number) => inset + (n - 1) * step
  const highest = Math.max(0, ...route.stops.map(stop => (stop.backTo === undefined ? 0 : arcHeight(x(stop.n) - x(stop.backTo), tallest))))
  const y = highest + r + 3
  return {
    dots, y, labels: !dots && (count === 1 || step >= LABEL_PX),
    stops: route.stops.map(stop => ({ stop, x: x(stop.n), showsNumber: !dots || stop.n === 1 || stop.n % 10 === 0 })),
    segments: route.segments.map(segment => ({ n: segment.n, x1: x(segment.n - 1) + r + 1, x2: x(segment.n) - r - 1, kind: segment.kind })).filter(segment => segment.x2 > segment.x1),
    arcs: route.stops.flatMap((stop) => {
      if (stop.backTo === undefined) return []
      const [from, to, top] = [x(stop.n) - 2, x(stop.backTo) + 2, y - r - 2]
      const lift = arcHeight(from - to, tallest) * 4 / 3
      return [{ n: stop.n, d: `M${round(from)} ${round(top)}C${round(from)} ${round(top - lift)} ${round(to)} ${round(top - lift)} ${round(to)} ${round(top)}` }]
    }),
  }
}

const arcHeight = (distance: number, tallest: number) => Math.min(tallest, 8 + 0.12 * distance)
const round = (value: number) => Math.round(value * 10) / 10
