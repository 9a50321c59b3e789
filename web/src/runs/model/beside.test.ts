import fc from 'fast-check'
import { expect, it } from 'vitest'
import { beside } from './beside'

const space = { width: 1200, height: 800 }
const own = { width: 400, height: 300 }
const at = (left: number, top: number) => ({ left, top, right: left + 200, bottom: top + 80 })

it('lies right of the box, left of it where there is no room, below where neither side has any', () => {
  expect(beside(at(100, 300), own, space)).toEqual({ left: 310, top: 276 })
  expect(beside(at(900, 300), own, space)).toEqual({ left: 490, top: 276 })
  expect(beside(at(80, 100), own, { width: 420, height: 800 })).toEqual({ left: 8, top: 190 })
})
it('never leaves a window that it fits into', () => {
  const place = fc.record({ left: fc.integer({ min: -2000, max: 3000 }), top: fc.integer({ min: -2000, max: 3000 }) })
  fc.assert(fc.property(place, ({ left, top }) => {
    const found = beside(at(left, top), own, space)
    expect(found.left).toBeGreaterThanOrEqual(8)
    expect(found.top).toBeGreaterThanOrEqual(8)
    expect(found.left + own.width).toBeLessThanOrEqual(space.width - 8)
    expect(found.top + own.height).toBeLessThanOrEqual(space.height - 8)
  }))
})
