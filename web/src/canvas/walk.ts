/** Which node lies where the arrow points: along the edges first, else the nearest in that direction. Pure. */
import type { Box } from './geometry'

export type Arrow = 'ArrowLeft' | 'ArrowRight' | 'ArrowUp' | 'ArrowDown'
export const isArrow = (key: string): key is Arrow => ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'].includes(key)

export interface Located extends Box { readonly id: string }
export interface Joined { readonly source: string, readonly target: string }

const middle = (box: Box) => ({ x: box.x + box.width / 2, y: box.y + box.height / 2 })

export function neighbour(boxes: readonly Located[], edges: readonly Joined[], from: string, arrow: Arrow): string | undefined {
  const own = boxes.find(box => box.id === from)
  if (!own) return undefined
  const here = middle(own)
  const joined = arrow === 'ArrowRight' ? edges.filter(edge => edge.source === from).map(edge => edge.target)
    : arrow === 'ArrowLeft' ? edges.filter(edge => edge.target === from).map(edge => edge.source) : []
  const others = boxes.filter(box => box.id !== from)
  const along = others.filter(box => joined.includes(box.id))
  const score = (box: Located) => {
    const there = middle(box)
    const [ahead, aside] = arrow === 'ArrowLeft' || arrow === 'ArrowRight' ? [there.x - here.x, there.y - here.y] : [there.y - here.y, there.x - here.x]
    return { ahead: arrow === 'ArrowLeft' || arrow === 'ArrowUp' ? -ahead : ahead, aside: Math.abs(aside) }
  }
  const nearest = (list: readonly Located[]) => [...list].sort((a, b) => {
    const [left, right] = [score(a), score(b)]
    return left.ahead + 2 * left.aside - (right.ahead + 2 * right.aside)
  })[0]?.id
  if (along.length > 0) return [...along].sort((a, b) => score(a).aside - score(b).aside)[0]?.id
  return nearest(others.filter((box) => {
    const { ahead, aside } = score(box)
    return ahead > 0 && aside <= 2 * ahead
  }))
}
