/** What a skill has held can be looked at, compared with what it holds, and put back. */
import { expect, test } from './kit/test.ts'

const source = (words: string) => `---\nname: tide-note\ndescription: Writes a note on tides.\n---\n\n# Tide note\n\n${words}\n`

test('an older content of a skill is compared and put back', async ({ page, api }) => {
  const { id } = await api.post<{ id: string }>('/skills', { source: source('Say when the tide is high.') })
  await api.put(`/skills/${id}`, { source: source('Say when the tide is low.') })
  await page.goto(`/skills/${id}`)
  await page.getByRole('button', { name: 'Versions' }).click()
  const dialog = page.getByRole('dialog', { name: 'Versions of tide-note' })
  await expect(dialog.getByRole('listitem')).toHaveCount(2)
  await expect(dialog.getByRole('listitem').first()).toContainText('in use')
  await dialog.getByRole('button', { name: 'Compare version 1 with now' }).click()
  const difference = dialog.getByRole('region', { name: 'Version 1 · now' })
  await expect(difference.locator('del')).toContainText('high')
  await expect(difference.locator('ins')).toContainText('low')
  await dialog.getByRole('button', { name: 'Put version 1 back' }).click()
  await expect(dialog).toHaveCount(0)
  await expect(page.getByLabel('SKILL.md')).toHaveValue(/tide is high/)
  expect((await api.get<{ source: string }>(`/skills/${id}`)).source).toContain('tide is high')
})
