/** Every page and its states in both themes: nothing that axe calls serious or critical. */
import { expectAccessible, expectAccessibleInBoth } from './kit/axe.ts'
import { make, open, SCENES, type Made } from './kit/scenes.ts'
import { expect, test } from './kit/test.ts'

test.use({ served: 'for scenes' })

// First, while nothing is there.
for (const [name, address, text] of [['inbox', '/inbox', 'Nothing waits for you.'], ['list of workflows', '/workflows', 'No workflows yet.'], ['history', '/runs', 'No runs yet.']] as const) {
  test(`an empty ${name} can be used by everybody, in both themes`, async ({ page }) => {
    await page.goto(address)
    await expect(page.getByText(text, { exact: false }).first()).toBeVisible()
    await expectAccessibleInBoth(page)
  })
}

test.describe('at work', () => {
  let made: Made
  test.beforeAll(async ({ flyback }) => { made = await make(flyback, 'en') })

  for (const scene of SCENES) {
    test(`${scene.name} can be used by everybody, in both themes`, async ({ page, guard }) => {
      if (scene.name === 'nothing') guard.allow(/status of 404/)
      await open(page, scene, made)
      await expectAccessibleInBoth(page)
    })
  }

  for (const width of [390, 700, 900]) {
    test(`the editor, its sheet and its versions can be used by everybody, ${width} px wide`, async ({ page }) => {
      await page.setViewportSize({ width, height: 844 })
      for (const address of [`/workflows/${made.desk.id}?run=${made.run.runId}&panel=visits`, `/workflows/${made.desk.id}?panel=details`, `/workflows/${made.desk.id}/versions`, `/workflows/${made.desk.id}/versions/1/diff/2`]) {
        await page.goto(address)
        await expect(page.getByRole('heading', { level: 1 })).toBeAttached()
        await expect(page.locator('[aria-busy="true"]')).toHaveCount(0)
        await expectAccessible(page)
      }
    })
  }
})

test.describe('signed out', () => {
  test.use({ storageState: { cookies: [], origins: [] } })
  test('the sign-in page can be used by everybody', async ({ page, guard }) => {
    guard.allow(/status of 401/)
    await page.goto('/sign-in')
    await expect(page.getByRole('alert')).toBeVisible()
    await expectAccessible(page)
  })
})
