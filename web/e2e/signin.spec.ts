/** The one-time link: it signs in, leaves nothing in the address, and works once. */
import { expect, test } from './kit/test.ts'

test.use({ storageState: { cookies: [], origins: [] } })
test.beforeEach(({ guard }) => { guard.allow(/status of 401/) })

test('a person opens the link of the terminal, is signed in without the secret in the address, and signs out', async ({ page, flyback }) => {
  await page.goto(await flyback.newLink())
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await expect(page).toHaveURL(`${flyback.baseUrl}/workflows`)
  await expect(page).toHaveTitle(/Workflows/)
  await page.goBack()
  expect(page.url()).not.toContain('secret')

  await page.goto('/settings')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await expect(page).toHaveURL(/\/sign-in/)
  await page.goto('/workflows')
  await expect(page).toHaveURL(/\/sign-in/)
})

test('a person is told that a used link was used, pastes a new one, and comes where they wanted to go', async ({ page, flyback }) => {
  await page.goto(flyback.usedLink)
  await expect(page.getByRole('alert')).toContainText('This link was used already. Run flyback serve again to print a new one.')
  await expect(page).toHaveURL(/\/sign-in$/)

  await page.goto('/settings')
  await expect(page.getByRole('alert')).toContainText('Open the sign-in link that Flyback printed in the terminal.')
  await page.getByLabel('Or paste the link').fill(await flyback.newLink())
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Settings' })).toBeVisible()
})
