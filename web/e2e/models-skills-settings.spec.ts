/** Models, skills, settings and keys: what is stored, what is refused and why, and what is never shown again. */
import { expect, test } from './kit/test.ts'
import { zip } from './kit/zip.ts'

test('a model is added with a key that is never shown again, tested, changed and removed', async ({ page, api }) => {
  await page.goto('/models')
  await page.getByRole('button', { name: 'Add a model' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Provider').selectOption('OpenAI-compatible')
  await dialog.getByLabel('Name').fill('glm')
  // The port of nothing: the test of it must say so.
  await dialog.getByLabel('Base URL').fill('http://127.0.0.1:9/v1')
  await dialog.getByLabel('Model', { exact: false }).last().fill('glm-4-plus')
  await dialog.getByLabel('API key').fill('sk-very-secret')
  await dialog.getByRole('button', { name: 'Save' }).click()
  const entry = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'glm' }) })
  await expect(entry).toContainText('key stored')
  expect(JSON.stringify(await api.get('/models'))).not.toContain('sk-very-secret')

  await entry.getByRole('button', { name: 'Test glm' }).click()
  await expect(entry.getByRole('status')).toContainText('The model gave no answer.')

  await entry.getByRole('button', { name: 'Actions for glm' }).click()
  await page.getByRole('menuitem', { name: 'Edit' }).click()
  const edit = page.getByRole('dialog', { name: 'Edit glm' })
  await expect(edit.getByLabel('API key')).toHaveValue('')
  await expect(edit).toContainText('A key is stored. Leave this empty to keep it.')
  await edit.getByLabel('Base URL').fill('http://127.0.0.1:10/v1')
  await edit.getByRole('button', { name: 'Save' }).click()
  await expect(entry).toContainText('no key')

  await entry.getByRole('button', { name: 'Actions for glm' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('dialog', { name: 'Delete glm?' }).getByRole('button', { name: 'Delete' }).click()
  await expect(entry).toHaveCount(0)
})

test('a skill is uploaded, one with climbing paths is refused with the reason, and SKILL.md is edited', async ({ page, guard }) => {
  guard.allow(/status of 4\d\d/)
  await page.goto('/skills')
  await page.getByRole('button', { name: 'Upload' }).click()
  const dialog = page.getByRole('dialog', { name: 'Upload a skill' })
  const upload = async (name: string, mimeType: string, buffer: Buffer) => {
    const chooser = page.waitForEvent('filechooser')
    await dialog.getByRole('button', { name: 'Choose a file' }).click()
    await (await chooser).setFiles({ name, mimeType, buffer })
  }
  const text = '---\nname: tide-table\ndescription: Reads a tide table.\n---\nRead the table and say when the water is high.'
  await upload('climber.zip', 'application/zip', zip({ 'tide-table/SKILL.md': text, 'tide-table/../../../climbed.txt': 'out' }))
  await expect(dialog).toContainText('“climber.zip” was refused. Nothing was stored.')
  await expect(dialog).toContainText('climbed.txt')
  await upload('tide-table.zip', 'application/zip', zip({ 'tide-table/SKILL.md': text, 'tide-table/tides.csv': 'day,high' }))
  await expect(page.getByRole('heading', { level: 1, name: 'tide-table' })).toBeVisible()

  const field = page.getByLabel('SKILL.md')
  await field.fill((await field.inputValue()).replace('Reads a tide table.', 'Reads any tide table.'))
  await expect(page.getByText('Not saved')).toBeVisible()
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('Saved', { exact: true })).toBeVisible()
  await page.getByRole('link', { name: 'Skills' }).first().click()
  await expect(page.getByRole('listitem').filter({ hasText: 'tide-table' })).toContainText('Reads any tide table.')
})

test('an API key is shown once, works, and works no more when it is revoked', async ({ page, flyback }) => {
  await page.goto('/settings')
  await page.getByLabel('What is it for?').fill('nightly')
  await page.getByRole('button', { name: 'Create key' }).click()
  const dialog = page.getByRole('dialog', { name: 'Copy the key now' })
  const key = await dialog.locator('code').innerText()
  const status = async () => (await fetch(`${flyback.baseUrl}/api/settings`, { headers: { authorization: `Bearer ${key}` } })).status
  expect(await status()).toBe(200)
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.reload()
  await expect(page.getByRole('button', { name: 'Revoke nightly' })).toBeVisible()
  expect(await page.content()).not.toContain(key)
  await page.getByRole('button', { name: 'Revoke nightly' }).click()
  await page.getByRole('dialog', { name: 'Revoke nightly?' }).getByRole('button', { name: 'Revoke' }).click()
  await expect(page.getByRole('button', { name: 'Revoke nightly' })).toHaveCount(0)
  expect(await status()).toBe(401)
})

test('somebody is added with a link, comes in as a viewer, and is out when removed', async ({ page, browser, flyback }) => {
  await page.goto('/settings')
  await page.getByLabel('Name', { exact: true }).fill('Vera')
  await page.locator('form').filter({ hasText: 'Administrator' }).getByRole('combobox').selectOption('viewer')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'A link for Vera' })
  const link = await dialog.locator('code').innerText()
  await dialog.getByRole('button', { name: 'Done' }).click()
  const theirs = await (await browser.newContext({ baseURL: flyback.baseUrl })).newPage()
  await theirs.goto(link)
  await expect(theirs).toHaveURL(`${flyback.baseUrl}/workflows`)
  await theirs.goto('/settings')
  await expect(theirs.getByText('this browser', { exact: true })).toBeVisible()
  await expect(theirs.getByRole('heading', { name: 'Audit log' })).toHaveCount(0)
  await page.reload()
  await expect(page.getByText('A person was added')).toBeVisible()
  await page.getByRole('button', { name: 'Remove Vera' }).click()
  await page.getByRole('dialog', { name: 'Remove Vera?' }).getByRole('button', { name: 'Remove' }).click()
  await expect(page.getByRole('button', { name: 'Remove Vera' })).toHaveCount(0)
  await theirs.goto('/workflows')
  await expect(theirs).toHaveURL(/sign-in/)
  await theirs.context().close()
})

test('the default model and the limits are kept by the server', async ({ page, api }) => {
  await page.goto('/settings')
  await expect(page.getByLabel('Default model')).toHaveValue('scripted')
  await page.getByLabel('Visits a run').fill('40')
  await page.getByLabel('Visits a run').press('Tab')
  await expect.poll(async () => (await api.get<{ limits: { maxVisits: number } }>('/settings')).limits.maxVisits).toBe(40)
  await api.put('/settings', { limits: { maxVisits: 50 } })
})

test('a language that is chosen while the settings are on their way stays', async ({ page, api }) => {
  const held: (() => void)[] = []
  await page.route('**/api/settings', async (route) => {
    await new Promise<void>((done) => { held.push(done) })
    await route.continue()
  })
  await page.goto('/settings')
  await page.getByRole('radiogroup', { name: 'Language' }).getByText('中文').click()
  await expect(page.getByRole('heading', { level: 1, name: '设置' })).toBeVisible()
  const known = page.waitForResponse(response => response.url().endsWith('/api/settings') && response.request().method() === 'GET')
  held[0]?.()
  await known
  await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)) }))
  await expect(page.locator('html')).toHaveAttribute('lang', 'zh-CN')
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  for (const go of held) go()
  await page.reload()
  await expect(page.locator('html')).toHaveAttribute('lang', 'zh-CN')
  await api.put('/settings', { language: null })
})

test('language and theme change at once and stay for the next visit', async ({ page, api }) => {
  await page.goto('/settings')
  await page.getByRole('radio', { name: '中文' }).check({ force: true })
  await expect(page.getByRole('heading', { level: 1, name: '设置' })).toBeVisible()
  await page.getByRole('radiogroup', { name: '主题' }).getByText('深色').click()
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')
  await page.reload()
  await expect(page.getByRole('heading', { level: 1, name: '设置' })).toBeVisible()
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')
  await expect(page.locator('html')).toHaveAttribute('lang', 'zh-CN')
  await api.put('/settings', { language: null })
})
