/** The route of a run as a list carries it, for the sparkline of its row. Pure. */
import type { ListedRun } from '@/api/types'
import { route, type Route } from './route'

type Listed = Pick<ListedRun, 'mode' | 'status' | 'route'>

/** The nodes of a DAG run began one after another, which leads from none to the next: its stops are not joined. */
export function listedRoute({ mode, route: stops }: Listed): Route {
  const { stops: drawn, segments } = route(stops.map((stop, index) => ({
    key: String(index), nodeId: stop.nodeId, nodeLabel: stop.nodeLabel, nodeType: '', iterSeq: stop.iterSeq, status: stop.status, onCanvas: stop.onCanvas, output: null,
    ...(index > 0 && { fromVisitId: String(index - 1) }),
  })), [])
  return { stops: drawn, segments: mode === 'DAG' ? [] : segments }
}

/** The node at which a run is, waits, or came to its end without being done. */
export const standsAt = ({ status, route: stops }: Listed): string | undefined =>
  (status === 'SUCCESS' ? undefined : stops.findLast(stop => stop.status === status)?.nodeLabel)
