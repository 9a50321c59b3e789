/** The hints of a first run: each beside its thing, once, closed by going on. */
import { expectAccessibleInBoth } from '../kit/axe.ts'
import { letter } from '../kit/documents.ts'
import { Editor } from '../kit/editor.ts'
import { expect, test } from '../kit/test.ts'

test('a first run says what its parts are, once', async ({ page, api }) => {
  const slow = letter('First')
  slow.script = slow.script?.map(part => ('role' in part.for ? { ...part, replies: part.replies.map(reply => ({ ...reply, delayMs: 300 })) } : part))
  const { id } = await api.save(slow)
  await new Editor(page).open(id, '?dialog=run')
  await page.getByRole('dialog').getByRole('button', { name: /^Run/ }).click()
  const end = page.getByRole('note').filter({ hasText: 'Play shows the route again' })
  await expect(end).toBeVisible({ timeout: 20_000 })
  const jump = page.getByRole('note').filter({ hasText: 'the planner jumped' })
  const reason = page.getByRole('note').filter({ hasText: 'planner\'s reason' })
  await expect(jump).toHaveCount(1)
  await expect(reason).toHaveCount(1)
  await expectAccessibleInBoth(page)
  await reason.scrollIntoViewIfNeeded()
  await end.getByRole('button', { name: 'Close the hint' }).click()
  await expect(page.getByRole('note')).toHaveCount(await jump.count())
  await page.getByRole('button', { name: 'Run again' }).first().click()
  await expect(end).toHaveCount(0)
  await expect(reason).toHaveCount(0)
})
