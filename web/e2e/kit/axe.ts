/** What a page must be for everybody: nothing that axe calls serious. */
import AxeBuilder from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { stillness } from './stillness.ts'
import { expect } from './test.ts'

/** In the light theme and in the dark one. `within`: a selector, where not the whole page is looked at. */
export async function expectAccessibleInBoth(page: Page, within?: string) {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await expect(page.locator('html')).toHaveAttribute('data-theme', colorScheme)
    await expectAccessible(page, within)
  }
}

export async function expectAccessible(page: Page, within?: string) {
  // What fades in is looked at when it is there.
  await stillness(page)
  const builder = new AxeBuilder({ page })
  const { violations } = await (within === undefined ? builder : builder.include(within)).analyze()
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  expect(serious.map(({ id, nodes }) => ({ id, at: nodes.slice(0, 4).map(({ target, failureSummary }) => `${target.join(' ')} — ${failureSummary?.split('\n').slice(1, 3).join(' ')}`) }))).toEqual([])
}
