/** Parts of the page that come when they are needed: a server that is away for a moment leaves no hole. */
import { letter } from '../kit/documents.ts'
import { Editor } from '../kit/editor.ts'
import { expect, test } from '../kit/test.ts'

test('what could not be fetched while the server was away comes when it is back, without a reload', async ({ page, api, guard, flyback }) => {
  guard.allow(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_ABORTED|Unable to preload CSS|Failed to fetch dynamically|status of 503/)
  const { id } = await api.save(letter('Away'))
  const editor = await new Editor(page).open(id)
  await expect(editor.nodes).toHaveCount(4)
  await flyback.kill()
  await editor.click(editor.node('Draft'))
  const notice = page.getByRole('status').filter({ hasText: 'A part of the page could not be fetched' })
  await expect(notice).toBeVisible()
  // A plain field stands in, and what is typed in it is kept.
  await editor.field('User prompt').click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type(' Now.')
  await page.getByRole('link', { name: 'Models' }).click()
  await expect(notice).toBeVisible()
  await flyback.start()
  await expect(page.getByRole('heading', { level: 1, name: 'Models' })).toBeVisible({ timeout: 20_000 })
  await expect(notice).toHaveCount(0)
  await page.getByRole('link', { name: 'Workflows', exact: true }).first().click()
  await editor.open(id)
  await editor.click(editor.node('Draft'))
  await expect(page.locator('.cm-content').filter({ hasText: 'Now.' })).toBeVisible()
})
