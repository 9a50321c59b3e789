/** The list of workflows: made, found, copied, taken away and brought back, carried out of and into the server. */
import { readFile } from 'node:fs/promises'
import type { Page } from '@playwright/test'
import { letter } from './kit/documents.ts'
import { expect, test } from './kit/test.ts'

const row = (page: Page, name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })

async function choose(page: Page, name: string, action: string) {
  await page.getByRole('button', { name: `Actions for ${name}`, exact: true }).click()
  await page.getByRole('menuitem', { name: action }).click()
}

test('a workflow is made, found by its name, duplicated, deleted and brought back', async ({ page }) => {
  await page.goto('/workflows')
  await page.getByRole('banner').getByRole('button', { name: 'New workflow' }).click()
  const dialog = page.getByRole('dialog', { name: 'New workflow' })
  await dialog.getByLabel('Name').fill('Harbour watch')
  await dialog.getByRole('radio', { name: /strictly along the edges/ }).check()
  await dialog.getByRole('button', { name: 'Create' }).click()
  await expect(page).toHaveURL(/\/workflows\/[\w-]+$/)

  await page.goto('/workflows')
  await page.getByRole('searchbox', { name: 'Search workflows' }).fill('harbour watch')
  await expect(page.getByRole('row').filter({ has: page.getByRole('link') })).toHaveCount(1)
  await expect(row(page, 'Harbour watch')).toContainText('DAG')
  await expect(page).toHaveURL(/q=harbour/)

  await choose(page, 'Harbour watch', 'Duplicate')
  await expect(page.getByText(/Duplicated as “Harbour watch/)).toBeVisible()
  await choose(page, 'Harbour watch', 'Delete')
  await expect(row(page, 'Harbour watch')).toHaveCount(0)
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(row(page, 'Harbour watch')).toHaveCount(1)
})

test('what is typed into the search stays while the list loads and the address waits for the server', async ({ page, api, guard }) => {
  guard.allow(/status of 503/)
  await api.save(letter('Lighthouse letters'))
  // Who is signed in is not known at first, so that a new address has to ask; the list comes in between.
  let asked = 0
  let answer = () => {}
  const answered = new Promise<void>((done) => { answer = done })
  await page.route('**/api/auth/me', async (route) => {
    asked += 1
    if (asked === 1) return route.fulfill({ status: 503, json: {} })
    await answered
    return route.continue()
  })
  let list = () => {}
  const listed = new Promise<void>((done) => { list = done })
  await page.route(/\/api\/workflows\?/, async (route) => { await listed; await route.continue() })
  await page.goto('/workflows')
  const search = page.getByRole('searchbox', { name: 'Search workflows' })
  await search.fill('lighthouse')
  list()
  await expect(row(page, 'Lighthouse letters')).toBeVisible()
  await expect(search).toHaveValue('lighthouse')
  answer()
  await expect(page).toHaveURL(/q=lighthouse/)
  await expect(search).toHaveValue('lighthouse')
  await page.goto('/workflows?q=lighthouse')
  await search.fill('')
  await expect(page).toHaveURL(/\/workflows$/)
})

test('a workflow that is exported and imported again is the same drawing', async ({ page, api }) => {
  const { graphData } = await api.save(letter('Round trip'))
  await page.goto('/workflows?q=Round trip')
  const download = page.waitForEvent('download')
  await choose(page, 'Round trip', 'Export')
  const file = await (await download).path()
  await page.getByRole('button', { name: 'Import' }).click()
  const chooser = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Choose files' }).click()
  await (await chooser).setFiles({ name: 'round-trip.json', mimeType: 'application/json', buffer: await readFile(file) })
  await expect(page).toHaveURL(/\/workflows\/[\w-]+$/)
  const imported = await api.workflow(page.url().split('/').at(-1) ?? '')
  expect(imported.graphData).toEqual(graphData)
  expect(imported).toMatchObject({ name: 'Round trip', mode: 'AGENTIC', maxVisits: 12 })
})

test('a file that is no workflow is refused with the reason, and nothing is stored', async ({ page, guard }) => {
  guard.allow(/status of 4\d\d/)
  await page.goto('/workflows')
  await page.getByRole('button', { name: 'Import' }).click()
  const chooser = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Choose files' }).click()
  await (await chooser).setFiles({ name: 'holiday.json', mimeType: 'application/json', buffer: Buffer.from('{"nodes": [') })
  await expect(page.getByRole('dialog')).toContainText('“holiday.json” was not imported.')
})

test('keys lead everywhere: the command bar, the sheet of shortcuts, the pages', async ({ page, api }) => {
  await api.save(letter('Bar target'))
  await page.goto('/workflows')
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await page.keyboard.press('?')
  await expect(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toBeVisible()
  await page.keyboard.press('Escape')
  await page.keyboard.press('g')
  await page.keyboard.press('m')
  await expect(page.getByRole('heading', { level: 1, name: 'Models' })).toBeVisible()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search or jump to…' }).fill('Bar target')
  await expect(page.getByRole('option', { name: /Bar target/ })).toBeVisible()
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/\/workflows\/[\w-]+/)
})
