import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { USUAL_SIZE, type Box } from '@/canvas/geometry'
import { freePlace, freeShift } from './places'

const at = (x: number, y: number): Box => ({ x, y, ...USUAL_SIZE })
const touch = (a: Box, b: Box) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height

describe('a new node', () => {
  it('stays where it is wanted when nothing is there', () => {
    expect(freePlace(at(40, 60), { taken: [at(400, 60)] })).toEqual({ x: 40, y: 60 })
  })
  it('goes beside what stands there, no further than it must', () => {
    const taken = [at(0, 0)]
    const place = freePlace(at(20, 20), { taken })
    expect(touch({ ...place, ...USUAL_SIZE }, at(0, 0))).toBe(false)
    expect(Math.hypot(place.x - 20, place.y - 20)).toBeLessThan(140)
  })
  it('takes a free place in view before a nearer one out of it', () => {
    const view = { x: 0, y: 0, width: 800, height: 220 }
    const taken = [at(280, 60)]
    const place = freePlace(at(280, 60), { taken, view })
    expect([place.x >= 0, place.x + USUAL_SIZE.width <= 800, place.y >= 0, place.y + USUAL_SIZE.height <= 220]).toEqual([true, true, true, true])
    expect(touch({ ...place, ...USUAL_SIZE }, at(280, 60))).toBe(false)
  })
  it('leaves the view when it is full', () => {
    const view = { x: 0, y: 0, width: 230, height: 100 }
    expect(touch({ ...freePlace(at(0, 0), { taken: [at(0, 0)], view }), ...USUAL_SIZE }, at(0, 0))).toBe(false)
  })
  it('never lies on another, wherever they stand', () => {
    const boxes = fc.array(fc.tuple(fc.integer({ min: -900, max: 900 }), fc.integer({ min: -900, max: 900 })).map(([x, y]) => at(x, y)), { maxLength: 30 })
    fc.assert(fc.property(boxes, boxes.filter(list => list.length > 0), (taken, fresh) => {
      const shift = freeShift(fresh, { taken })
      const put = fresh.map(box => ({ ...box, x: box.x + shift.x, y: box.y + shift.y }))
      expect(put.some(box => taken.some(other => touch(box, other)))).toBe(false)
    }), { numRuns: 60 })
  })
})
