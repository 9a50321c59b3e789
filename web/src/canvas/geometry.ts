/** Boxes, views and snapping on the canvas. Pure. */

export interface Box { readonly x: number, readonly y: number, readonly width: number, readonly height: number }
export interface View { readonly x: number, readonly y: number, readonly zoom: number }

/** What a node takes before it was measured. */
export const USUAL_SIZE = { width: 210, height: 84 }
export const GRID = 20
export const MOST_ZOOM = 2
export const LEAST_ZOOM = 0.08

export function around(boxes: readonly Box[]): Box | undefined {
  if (boxes.length === 0) return undefined
  const x = Math.min(...boxes.map(box => box.x))
  const y = Math.min(...boxes.map(box => box.y))
  return { x, y, width: Math.max(...boxes.map(box => box.x + box.width)) - x, height: Math.max(...boxes.map(box => box.y + box.height)) - y }
}

export interface Insets { readonly top: number, readonly right: number, readonly bottom: number, readonly left: number }

/** The view that shows a box in the middle, never larger than life. */
export function viewOf(box: Box, width: number, height: number, insets: Insets, mostZoom = 1): View {
  const [room, tall] = [Math.max(width - insets.left - insets.right, 80), Math.max(height - insets.top - insets.bottom, 80)]
  const zoom = Math.min(mostZoom, Math.max(LEAST_ZOOM, Math.min(room / Math.max(box.width, 1), tall / Math.max(box.height, 1))))
  return {
    x: insets.left + (room - box.width * zoom) / 2 - box.x * zoom,
    y: insets.top + (tall - box.height * zoom) / 2 - box.y * zoom,
    zoom,
  }
}

/** A guide that shows what a dragged node snapped to. */
export interface Guide { readonly axis: 'x' | 'y', readonly at: number }
export interface Snap { readonly dx: number, readonly dy: number, readonly guides: readonly Guide[] }

const lines = (box: Box, axis: 'x' | 'y') => {
  const [at, size] = axis === 'x' ? [box.x, box.width] : [box.y, box.height]
  return [at, at + size / 2, at + size]
}

/** Left, middle and right of neighbours first, the grid where none is near. */
function snapAxis(box: Box, others: readonly Box[], axis: 'x' | 'y', reach: number): { by: number, guide?: Guide } {
  let best: { by: number, at: number } | undefined
  for (const other of others) {
    const theirs = lines(other, axis)
    lines(box, axis).forEach((own, index) => {
      const line = theirs[index]
      if (line === undefined || Math.abs(line - own) > reach || (best && Math.abs(best.by) <= Math.abs(line - own))) return
      best = { by: line - own, at: line }
    })
  }
  if (best) return { by: best.by, guide: { axis, at: best.at } }
  const at = axis === 'x' ? box.x : box.y
  return { by: Math.round(at / GRID) * GRID - at }
}

export function snap(box: Box, others: readonly Box[], reach: number): Snap {
  const [x, y] = [snapAxis(box, others, 'x', reach), snapAxis(box, others, 'y', reach)]
  return { dx: x.by, dy: y.by, guides: [x.guide, y.guide].filter(guide => guide !== undefined) }
}

/** Nearest to a point first. */
export function byDistance<T extends { x: number, y: number }>(items: readonly T[], to: { x: number, y: number }): T[] {
  const distance = (item: T) => (item.x - to.x) ** 2 + (item.y - to.y) ** 2
  return [...items].sort((a, b) => distance(a) - distance(b))
}
