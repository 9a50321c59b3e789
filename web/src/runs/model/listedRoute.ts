/** The route of a run as a list carries it, for the sparkline of its row. Pure. */
import type { ListedRun } from '@/api/types'
import { route, type Route } from './route'

export function listedRoute(stops: NonNullable<ListedRun['route']>): Route {
  return route(stops.map((stop, index) => ({
    key: String(index), nodeId: stop.nodeId, nodeLabel: stop.nodeLabel, nodeType: '', iterSeq: stop.iterSeq, status: stop.status, onCanvas: stop.onCanvas, output: null,
    ...(index > 0 && { fromVisitId: String(index - 1) }),
  })), [])
}
