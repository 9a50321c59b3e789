/** Lays a drawing out from left to right. The engine is large and works in a worker; it comes when it is first asked. */
import { writeJson } from '@/api/json'
import type { Box } from './geometry'
import { GRID } from './geometry'

/** Where the edges touch a node, from its top: straight lines are straight because of it. */
export interface Ports { readonly entry: number, readonly exits: ReadonlyMap<string, number> }
export interface LaidNode extends Box { readonly id: string, readonly ports: Ports }
export interface LaidEdge { readonly id: string, readonly source: string, readonly target: string, readonly handle: string }

type Elk = InstanceType<typeof import('elkjs/lib/elk-api.js').default>
let engine: Promise<Elk> | undefined

async function start(): Promise<Elk> {
  const [{ default: Engine }, { default: workerUrl }] = await Promise.all([import('elkjs/lib/elk-api.js'), import('elkjs/lib/elk-worker.min.js?url')])
  return new Engine({ workerUrl })
}

const ENTRY = ' in'
const portId = (node: string, handle: string) => writeJson([node, handle])
const port = (node: string, handle: string, side: 'WEST' | 'EAST', x: number, y: number) => ({ id: portId(node, handle), x, y, width: 0, height: 0, layoutOptions: { 'elk.port.side': side } })

const rounded = (value: number) => Math.round(value / GRID) * GRID

/** New places by id. */
export async function layout(nodes: readonly LaidNode[], edges: readonly LaidEdge[]): Promise<Map<string, { x: number, y: number }>> {
  engine ??= start().catch((failure: unknown) => {
    engine = undefined
    throw failure
  })
  const elk = await engine
  const nodesById = new Map(nodes.map(node => [node.id, node]))
  const corner = { x: Math.min(...nodes.map(node => node.x)), y: Math.min(...nodes.map(node => node.y)) }
  const laid = await elk.layout({
    id: 'drawing',
    layoutOptions: {
      'elk.algorithm': 'layered', 'elk.direction': 'RIGHT', 'elk.layered.spacing.nodeNodeBetweenLayers': '80', 'elk.spacing.nodeNode': '48',
      'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES', 'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX', 'elk.separateConnectedComponents': 'true', 'elk.spacing.componentComponent': '80',
    },
    children: nodes.map(({ id, width, height, ports }) => ({
      id, width, height, layoutOptions: { 'elk.portConstraints': 'FIXED_POS' },
      ports: [port(id, ENTRY, 'WEST', 0, ports.entry), ...[...ports.exits].map(([handle, y]) => port(id, handle, 'EAST', width, y))],
    })),
    edges: edges.map(({ id, source, target, handle }) => ({ id, sources: [nodesById.get(source)?.ports.exits.has(handle) ? portId(source, handle) : source], targets: [portId(target, ENTRY)] })),
  })
  return new Map((laid.children ?? []).map(child => [child.id, { x: rounded(corner.x + (child.x ?? 0)), y: rounded(corner.y + (child.y ?? 0)) }]))
}
