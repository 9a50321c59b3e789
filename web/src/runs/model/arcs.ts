/** The arcs of the chain's gutter: from each revisit back to the node's visit before, laid side by side. Pure. */
import type { RouteStop } from './route'

export interface Arc { readonly from: number, readonly to: number, readonly lane: number }

const MOST_LANES = 5

/** Arcs from stop `from` up to stop `to`, with lanes such that short ones lie inside and few cross. */
export function arcs(stops: readonly RouteStop[]): Arc[] {
  const lanes: number[] = []
  return stops.flatMap((stop): Arc[] => {
    if (stop.backTo === undefined) return []
    const free = lanes.findIndex(until => until <= (stop.backTo ?? 0))
    const lane = free >= 0 ? free : Math.min(lanes.length, MOST_LANES - 1)
    lanes[lane] = Math.max(lanes[lane] ?? 0, stop.n)
    return [{ from: stop.n, to: stop.backTo, lane }]
  })
}
