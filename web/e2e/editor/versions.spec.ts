/** What a person reads of two versions, and of a field that holds more than a text. */
import { letter, node } from '../kit/documents.ts'
import { Editor } from '../kit/editor.ts'
import { RunView } from '../kit/run.ts'
import { expect, test } from '../kit/test.ts'

test('a version is published with a note, run while the draft goes on, and put back into the draft', async ({ page, api }) => {
  const { id } = await api.save(letter('Editions'))
  const editor = await new Editor(page).open(id)
  const rename = async (from: string, to: string) => {
    await editor.click(editor.node(from))
    await editor.write('Label', to)
    await expect(editor.node(to)).toBeVisible()
    await editor.saved()
  }
  // a version, with what is new in it
  await page.getByRole('button', { name: 'Publish', exact: true }).click()
  await page.getByRole('textbox', { name: 'What is new' }).fill('Letters to anybody')
  await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click()
  await expect(page.getByText('Version 1 is published')).toBeVisible()
  // the draft goes on, and is kept under a name
  await rename('Ask', 'Guest')
  await page.keyboard.press('Control+s')
  await page.getByRole('dialog').getByRole('textbox').fill('with a guest')
  await page.getByRole('dialog').getByRole('button', { name: 'Keep' }).click()
  await rename('Guest', 'Person')
  // the version runs as it was published
  await page.getByRole('button', { name: /^Run/ }).click()
  await page.getByRole('dialog').getByRole('combobox', { name: 'Version' }).selectOption('1')
  await page.getByRole('dialog').getByRole('button', { name: /^Run/ }).click()
  const run = new RunView(page)
  await expect(run.result).toBeVisible()
  await expect(run.title(1)).toContainText('Ask')
  // what was kept comes back, and so does the version
  await page.goto(`/workflows/${id}/versions`)
  await expect(page.getByText('Letters to anybody')).toBeVisible()
  await page.getByRole('listitem').filter({ hasText: 'with a guest' }).getByRole('button', { name: 'Go back to it' }).click()
  await expect.poll(async () => (await api.workflow(id)).graphData.nodes[0]?.data['label']).toBe('Guest')
  await page.getByRole('listitem').filter({ hasText: 'Letters to anybody' }).getByRole('button', { name: 'Make it the draft' }).click()
  await expect.poll(async () => (await api.workflow(id)).graphData.nodes[0]?.data['label']).toBe('Ask')
})

test('two versions are compared under the labels of the form, with the changed words marked', async ({ page, api }) => {
  const { id } = await api.save(letter('Editions'))
  await api.post(`/workflows/${id}/versions`, { note: 'first' })
  const changed = await api.workflow(id)
  changed.graphData.nodes = changed.graphData.nodes.map(each => (each.id === 'draft' ? { ...each, data: { ...each.data, userPrompt: 'A short letter to {{who}}. {{read.text?}}' } } : each))
  await api.put(`/workflows/${id}`, { ...changed, maxVisits: 20 })
  await api.post(`/workflows/${id}/versions`, { note: 'second' })
  await page.goto(`/workflows/${id}/versions/1/diff/2`)
  const changes = page.getByRole('complementary', { name: 'What differs' })
  await expect(changes).toContainText('User prompt')
  await expect(changes.getByRole('insertion')).toHaveText('short ')
  await expect(changes).toContainText('Visits at most')
  await expect(changes).not.toContainText(/userPrompt|maxVisits/)
})

test('a body that is an object is shown and edited as JSON', async ({ page, api }) => {
  const { id } = await api.save({
    name: 'Body', mode: 'DAG',
    graphData: { nodes: [node('send', 'http', 0, 0, { label: 'Hand in', method: 'POST', url: 'https://example.org', body: { place: '{{place}}' } })], edges: [] },
  })
  const editor = await new Editor(page).open(id)
  await editor.click(editor.node('Hand in'))
  await expect(editor.field('Body')).toContainText('"place": "{{place}}"')
  await editor.write('Body', '{"place": "{{place}}", "count": 2}')
  await editor.saved()
  await expect.poll(async () => (await api.workflow(id)).graphData.nodes[0]?.data['body']).toEqual({ place: '{{place}}', count: 2 })
})
