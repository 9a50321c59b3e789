/** Where nodes go when they are aligned, distributed, nudged. Pure. */
import type { Place } from './commands'

export interface Box { readonly id: string, readonly x: number, readonly y: number, readonly width: number, readonly height: number }
export type Alignment = 'left' | 'centre' | 'right' | 'top' | 'middle' | 'bottom'
export type Direction = 'horizontal' | 'vertical'

export function aligned(boxes: readonly Box[], to: Alignment): Map<string, Place> {
  const left = Math.min(...boxes.map(box => box.x))
  const right = Math.max(...boxes.map(box => box.x + box.width))
  const top = Math.min(...boxes.map(box => box.y))
  const bottom = Math.max(...boxes.map(box => box.y + box.height))
  const place = (box: Box): Place => {
    switch (to) {
      case 'left': return { x: left, y: box.y }
      case 'right': return { x: right - box.width, y: box.y }
      case 'centre': return { x: Math.round((left + right - box.width) / 2), y: box.y }
      case 'top': return { x: box.x, y: top }
      case 'bottom': return { x: box.x, y: bottom - box.height }
      case 'middle': return { x: box.x, y: Math.round((top + bottom - box.height) / 2) }
    }
  }
  return new Map(boxes.map(box => [box.id, place(box)]))
}

/** Equal gaps between neighbours; the outermost stay. */
export function distributed(boxes: readonly Box[], direction: Direction): Map<string, Place> {
  const [at, size] = direction === 'horizontal' ? ['x', 'width'] as const : ['y', 'height'] as const
  const sorted = [...boxes].sort((a, b) => a[at] - b[at])
  const [first, last] = [sorted[0], sorted.at(-1)]
  if (!first || !last || sorted.length < 3) return new Map()
  const gap = (last[at] + last[size] - first[at] - sorted.reduce((sum, box) => sum + box[size], 0)) / (sorted.length - 1)
  let next = first[at]
  return new Map(sorted.map((box) => {
    const place = { x: box.x, y: box.y, [at]: box === last ? box[at] : Math.round(next) }
    next += box[size] + gap
    return [box.id, place]
  }))
}
