/** Drawing an edge: which nodes may take it, why another may not, and where it was let go. */
import type { Connection as LibraryConnection, OnConnectStartParams, VueFlowStore } from '@vue-flow/core'
import { shallowRef } from 'vue'

export interface DrawnConnection { readonly source: string, readonly sourceHandle: string | null, readonly target: string }
export interface LooseEnd { readonly source: string, readonly sourceHandle: string | null, readonly at: { x: number, y: number }, readonly pointer: { x: number, y: number } }

interface Connecting {
  flow: VueFlowStore
  /** Why an edge from this handle may not end at a node, in words. */
  refusals: (source: string, sourceHandle: string | null) => ReadonlyMap<string, string>
  onConnect: (connection: DrawnConnection) => void
  onLoose: (end: LooseEnd) => void
}

export interface Hint { readonly text: string, readonly x: number, readonly y: number }

const pointerOf = (event: MouseEvent | TouchEvent | undefined) => (event && 'changedTouches' in event ? event.changedTouches[0] : event)

export function useConnecting({ flow, refusals, onConnect, onLoose }: Connecting) {
  const refused = shallowRef<ReadonlyMap<string, string>>()
  const hint = shallowRef<Hint>()
  let from: { nodeId: string, handleId: string | null, type: string } | undefined
  let connected = false

  function onConnectStart({ nodeId, handleId, handleType }: OnConnectStartParams) {
    connected = false
    from = nodeId ? { nodeId, handleId: handleId ?? null, type: handleType ?? 'source' } : undefined
    if (from?.type === 'source') refused.value = refusals(from.nodeId, from.handleId)
    addEventListener('pointermove', showReason)
  }

  /** Says at the pointer why the node under it does not take the edge. */
  function showReason(event: PointerEvent) {
    const nodeId = document.elementFromPoint(event.clientX, event.clientY)?.closest('.vue-flow__node')?.getAttribute('data-id')
    const text = nodeId ? refused.value?.get(nodeId) : undefined
    hint.value = text ? { text, x: event.clientX, y: event.clientY } : undefined
  }

  function take(connection: DrawnConnection) {
    connected = true
    onConnect(connection)
  }

  function onLibraryConnect({ source, sourceHandle, target }: LibraryConnection) {
    take({ source, sourceHandle: sourceHandle ?? null, target })
  }

  const isValid = ({ source, sourceHandle, target }: { source: string, sourceHandle?: string | null | undefined, target: string }) => !refusals(source, sourceHandle ?? null).has(target)

  function onConnectEnd(event?: MouseEvent | TouchEvent) {
    removeEventListener('pointermove', showReason)
    const [start, reasons] = [from, refused.value]
    from = undefined
    refused.value = undefined
    hint.value = undefined
    const point = pointerOf(event)
    if (connected || !start || start.type !== 'source' || !point) return
    const under = document.elementFromPoint(point.clientX, point.clientY)
    const nodeId = under?.closest('.vue-flow__node')?.getAttribute('data-id')
    // The whole node takes an edge, not its handle alone.
    if (nodeId) {
      if (nodeId !== start.nodeId && !reasons?.has(nodeId)) take({ source: start.nodeId, sourceHandle: start.handleId, target: nodeId })
      return
    }
    if (!under?.closest('.vue-flow__pane, .vue-flow__background, .vue-flow__viewport')) return
    const pointer = { x: point.clientX, y: point.clientY }
    // After the click that ends the drag: it would close at once what opens now.
    setTimeout(() => { onLoose({ source: start.nodeId, sourceHandle: start.handleId, at: flow.screenToFlowCoordinate(pointer), pointer }) })
  }

  return { refused, hint, onConnectStart, onLibraryConnect, onConnectEnd, isValid }
}
