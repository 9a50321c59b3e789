/** Fingers on the glass: a drag with one, a pinch with two. */
import type { CDPSession, Page } from '@playwright/test'

type Point = readonly [x: number, y: number]

export class Fingers {
  private constructor(private readonly session: CDPSession) {}

  static async on(page: Page): Promise<Fingers> {
    return new Fingers(await page.context().newCDPSession(page))
  }

  async drag([x, y]: Point, [toX, toY]: Point) {
    await this.#move(part => [[x + (toX - x) * part, y + (toY - y) * part]])
  }
  /** Two fingers about a point, from one distance to another. */
  async pinch([x, y]: Point, from: number, to: number) {
    await this.#move((part) => {
      const half = (from + (to - from) * part) / 2
      return [[x - half, y], [x + half, y]]
    })
  }

  async #move(at: (part: number) => readonly Point[]) {
    await this.#touch('touchStart', at(0))
    for (let step = 1; step <= 10; step += 1) await this.#touch('touchMove', at(step / 10))
    await this.#touch('touchEnd', [])
  }
  #touch(type: 'touchStart' | 'touchMove' | 'touchEnd', points: readonly Point[]) {
    return this.session.send('Input.dispatchTouchEvent', { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) })
  }
}
