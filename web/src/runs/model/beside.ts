/** Where a panel lies beside a box so that both are seen: right of it, else left, else below, else above, and always inside the window. Pure. */
export interface Size { readonly width: number, readonly height: number }
export interface Edges { readonly left: number, readonly right: number, readonly top: number, readonly bottom: number }

const GAP = 10
const RIM = 8

export function beside(box: Edges, own: Size, space: Size): { left: number, top: number } {
  const fits = { right: box.right + GAP + own.width <= space.width - RIM, left: box.left - GAP - own.width >= RIM, below: box.bottom + GAP + own.height <= space.height - RIM }
  const left = fits.right ? box.right + GAP : fits.left ? box.left - GAP - own.width : (box.left + box.right - own.width) / 2
  const top = fits.right || fits.left ? box.top - 24 : fits.below ? box.bottom + GAP : box.top - GAP - own.height
  return { left: Math.round(within(left, own.width, space.width)), top: Math.round(within(top, own.height, space.height)) }
}

function within(at: number, length: number, space: number): number {
  return Math.max(RIM, Math.min(at, space - RIM - length))
}
