/**
 * Pictures of every page and its states in both themes and two widths, the main ones on a phone too, into
 * `web/screenshots/`: to be looked at by a person. Each language is a project of its own, and so has a server of its own.
 * `PICTURES=inbox` takes those whose names hold that text.
 */
import { mkdir, readdir, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from '@playwright/test'
import { make, open, SCENES } from './kit/scenes.ts'
import { stillness } from './kit/stillness.ts'
import { expect, test } from './kit/test.ts'

const FOLDER = fileURLToPath(new URL('../screenshots/', import.meta.url))
const WANTED = process.env['PICTURES'] ?? ''

test.use({ served: 'for scenes' })

test('every page', async ({ page, flyback, guard, locale }) => {
  guard.allow(/status of 40[14]/)
  const language = locale === 'zh-CN' ? 'zh-CN' : 'en'
  await mkdir(FOLDER, { recursive: true })
  if (WANTED === '') for (const name of await readdir(FOLDER)) if (name.includes(`.${language}.`)) await rm(`${FOLDER}${name}`)
  const made = await make(flyback, language)
  for (const scene of SCENES.filter(({ name }) => name.includes(WANTED))) {
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.emulateMedia({ colorScheme: 'light' })
    await open(page, scene, made)
    for (const width of scene.phone ? [1440, 900, 390] : [1440, 900]) {
      await page.setViewportSize({ width, height: width === 390 ? 844 : 900 })
      for (const theme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme: theme })
        await atRest(page)
        await page.screenshot({ path: `${FOLDER}${scene.name}.${language}.${theme}.${width}.png`, animations: 'disabled' })
      }
    }
  }
})

async function atRest(page: Page) {
  // Text that is forming is busy for as long as it forms.
  await expect(page.locator('[aria-busy="true"]:not([aria-live])')).toHaveCount(0)
  await stillness(page)
  // Two frames: what is drawn after a change of size is there.
  await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)) }))
}
