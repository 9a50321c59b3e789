/** Which stops a node shows: more than five are the first, how many more, and the last two. Pure. */
import type { Stop } from './runState'

export type ShownStop = Stop | { readonly more: number }

export function shownStops(stops: readonly Stop[]): ShownStop[] {
  const first = stops[0]
  if (stops.length <= 5 || !first) return [...stops]
  return [first, { more: stops.length - 3 }, ...stops.slice(-2)]
}
