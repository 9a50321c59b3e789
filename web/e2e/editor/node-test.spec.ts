/** Trying one node alone: on what is typed, on what a past visit had gathered, and by keys. */
import { expectAccessibleInBoth } from '../kit/axe.ts'
import { letter } from '../kit/documents.ts'
import { Editor } from '../kit/editor.ts'
import { expect, test } from '../kit/test.ts'

test('a node is tried on what is typed, after what is not saved yet was saved', async ({ page, api }) => {
  const { id } = await api.save(letter('Tried'))
  const editor = await new Editor(page).open(id)
  await editor.click(editor.byId('read'))
  await editor.write('User prompt', 'Is {{draft.text}} kind to {{who}}?')
  await page.keyboard.press('Control+Shift+Enter')
  const test_ = editor.form.getByRole('tabpanel', { name: 'Test' })
  await test_.getByLabel('Draft · text').fill('Dear Ada')
  await test_.getByLabel('who').fill('Ada')
  await page.keyboard.press('Control+Shift+Enter')
  const answer = test_.getByRole('region', { name: 'What came of it' })
  await expect(answer.getByText('done', { exact: true })).toBeVisible()
  await expect(answer.getByText('The day is missing.')).toBeVisible()
  await answer.getByRole('button', { name: 'Show what was sent' }).click()
  await expect(answer.getByText('Is Dear Ada kind to Ada?').first()).toBeVisible()
  expect((await api.workflow(id)).graphData.nodes.find(node => node.id === 'read')?.data['userPrompt']).toBe('Is {{draft.text}} kind to {{who}}?')
})

test('a node is tried on the workspace of a past visit, and what is typed stands in its place', async ({ page, api }) => {
  const { workflow } = await api.played(letter('Tried again'), { who: 'Ada' })
  const editor = await new Editor(page).open(workflow.id)
  await editor.click(editor.byId('send'))
  await editor.form.getByRole('tab', { name: 'Test' }).click()
  const panel = editor.form.getByRole('tabpanel', { name: 'Test' })
  await panel.getByLabel('Take variables from').selectOption({ index: 1 })
  await expect(panel.getByLabel('After the visit').locator('option')).toHaveCount(7)
  await expect(panel.getByText('There: Dear Ada, come on Friday at six.')).toBeVisible()
  await panel.getByRole('button', { name: 'Run the test' }).click()
  await expect(panel.getByRole('region', { name: 'What came of it' }).getByText('Dear Ada, come on Friday at six.')).toBeVisible()
  await panel.getByLabel('Draft · text').fill('Something else')
  await panel.getByRole('button', { name: 'Run the test' }).click()
  await expect(panel.getByRole('region', { name: 'What came of it' }).getByText('Something else', { exact: true })).toBeVisible()
  await expectAccessibleInBoth(page, '.panel')
})

test('a node that fails says why and what to do', async ({ page, api }) => {
  const drawn = letter('Tried in vain')
  const variables = [{ name: 'who', type: 'string', required: true }]
  drawn.graphData.nodes = drawn.graphData.nodes.map(one => (one.id === 'ask' ? { ...one, data: { ...one.data, variables } } : one))
  const { id } = await api.save(drawn)
  const editor = await new Editor(page).open(id)
  await editor.click(editor.byId('ask'))
  await page.keyboard.press('Control+Shift+Enter')
  await expect(editor.form.getByRole('button', { name: 'Run the test' })).toBeVisible()
  await page.keyboard.press('Control+Shift+Enter')
  const answer = editor.form.getByRole('region', { name: 'What came of it' })
  await expect(answer.getByText('failed', { exact: true })).toBeVisible()
  await expect(answer.getByText('INPUT_REQUIRED')).toBeVisible()
})
