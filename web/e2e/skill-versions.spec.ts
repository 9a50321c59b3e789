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

for (const { choice, stands } of [{ choice: 'Use the saved one', stands: 'Theirs.' }, { choice: 'Save mine over it', stands: 'Mine.' }]) {
  test(`of two who save the same skill the second sees both, and nothing is lost: ${choice}`, async ({ page, api, guard }) => {
    guard.allow(/status of 409/)
    const { id } = await api.post<{ id: string }>('/skills', { source: source('First.').replace('tide-note', `shared-${stands.slice(0, 4).toLowerCase()}`) })
    await page.goto(`/skills/${id}`)
    const text = page.getByLabel('SKILL.md')
    await expect(text).toHaveValue(/First\./)
    const { source: before } = await api.get<{ source: string }>(`/skills/${id}`)
    await api.put(`/skills/${id}`, { source: before.replace('First.', 'Theirs.') })
    await text.fill(before.replace('First.', 'Mine.'))
    await page.keyboard.press('Control+s')
    const dialog = page.getByRole('dialog', { name: /^Changed elsewhere/ })
    await expect(dialog.locator('del')).toContainText('Theirs')
    await expect(dialog.locator('ins')).toContainText('Mine')
    // Closed, both are as they were; saved again, it is asked again.
    await page.keyboard.press('Escape')
    await expect(text).toHaveValue(/Mine\./)
    expect((await api.get<{ source: string }>(`/skills/${id}`)).source).toContain('Theirs.')
    await page.getByRole('banner').getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('button', { name: choice }).click()
    await expect(dialog).toHaveCount(0)
    await expect(text).toHaveValue(new RegExp(stands))
    expect((await api.get<{ source: string }>(`/skills/${id}`)).source).toContain(stands)
    expect((await api.get<{ items: unknown[] }>(`/skills/${id}/versions`)).items).toHaveLength(3)
  })
}
