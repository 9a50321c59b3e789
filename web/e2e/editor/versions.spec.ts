/** What a person reads of two versions, and of a field that holds more than a text. */
import { letter, node } from '../kit/documents.ts'
import { Editor } from '../kit/editor.ts'
import { expect, test } from '../kit/test.ts'

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
