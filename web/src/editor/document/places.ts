/**
 * Where new nodes go: the nearest place that is free, in view if there is one. Pure.
 *
 * Several nodes keep their order among each other and are moved as one. Notes lie behind and take no place.
 */
import type { GraphNode } from '@/api/types'
import { around, USUAL_SIZE, type Box } from '@/canvas/geometry'
import type { Place } from './commands'
import { positionOf } from './document'
import { STEP } from './naming'

/** The places that are taken, and the part of the drawing that is seen. */
export interface Room { readonly taken: readonly Box[], readonly view?: Box | undefined }

/** The room of nodes that nobody has measured. */
export const roomOf = (nodes: Iterable<GraphNode>): Room => ({ taken: [...nodes].map(node => ({ ...positionOf(node), ...USUAL_SIZE })) })

const GAP = STEP
/** How many steps around the wanted place are looked at; beyond them all of the drawing's right side is free. */
const REACH = 60

const overlap = (a: Box, b: Box) => a.x < b.x + b.width + GAP && b.x < a.x + a.width + GAP && a.y < b.y + b.height + GAP && b.y < a.y + a.height + GAP
const holds = (view: Box, box: Box) => box.x >= view.x && box.y >= view.y && box.x + box.width <= view.x + view.width && box.y + box.height <= view.y + view.height

/** Every shift within reach, the shortest first. */
const SHIFTS: readonly Place[] = Array.from({ length: (2 * REACH + 1) ** 2 }, (_, index) => ({
  x: (index % (2 * REACH + 1) - REACH) * STEP, y: (Math.floor(index / (2 * REACH + 1)) - REACH) * STEP,
})).sort((a, b) => a.x ** 2 + a.y ** 2 - (b.x ** 2 + b.y ** 2) || b.x - a.x || b.y - a.y)

/** How far boxes move so that they lie on nothing. */
export function freeShift(boxes: readonly Box[], { taken, view }: Room): Place {
  const whole = around(boxes)
  if (!whole) return { x: 0, y: 0 }
  const near = taken.filter(box => overlap(grown(whole, REACH * STEP), box))
  let outside: Place | undefined
  for (const shift of SHIFTS) {
    const seen = !view || holds(view, moved(whole, shift))
    if (!seen && outside) continue
    if (boxes.some(box => near.some(other => overlap(moved(box, shift), other)))) continue
    if (seen) return shift
    outside = shift
  }
  const edge = around(taken)
  return outside ?? { x: edge ? edge.x + edge.width + 2 * STEP - whole.x : 0, y: 0 }
}

export function freePlace(wanted: Box, room: Room): Place {
  const { x, y } = freeShift([wanted], room)
  return { x: wanted.x + x, y: wanted.y + y }
}

const moved = (box: Box, { x, y }: Place): Box => ({ ...box, x: box.x + x, y: box.y + y })
const grown = ({ x, y, width, height }: Box, by: number): Box => ({ x: x - by, y: y - by, width: width + 2 * by, height: height + 2 * by })
