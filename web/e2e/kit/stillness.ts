/** Waits until what fades or slides in is there. Some animations never say that they ended: a second is enough for all. */
import type { Page } from '@playwright/test'

export async function stillness(page: Page) {
  await page.evaluate(() => Promise.race([
    Promise.allSettled(document.getAnimations().filter(each => each.effect?.getComputedTiming().iterations !== Infinity).map(each => each.finished)),
    new Promise((done) => { setTimeout(done, 1000) }),
  ]))
}
