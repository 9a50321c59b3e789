/** Runs inside a run: seen in the card of the node that started them, with a way down and up again. */
import type { Page } from '@playwright/test'
import type { RunDetail } from '../src/api/types.ts'
import { edges, node, planner, type Document } from './kit/documents.ts'
import { Editor } from './kit/editor.ts'
import { RunView } from './kit/run.ts'
import { expect, test } from './kit/test.ts'

const inner: Document = {
  name: 'One harbour', mode: 'DAG', graphData: {
    nodes: [node('in', 'userInput', 0, 0, { label: 'Harbour', variables: [{ name: 'item', label: 'Which?', type: 'string' }] }), node('say', 'template', 280, 0, { label: 'Say', template: 'The tide in {{item}}' }), node('out', 'output', 560, 0, { label: 'Said', outputType: 'text' })],
    edges: edges('in -> say', 'say -> out'),
  },
}

test('an iteration shows a run for each item, and each leads back', async ({ page, api }) => {
  const { id } = await api.save(inner)
  const { run: outer } = await api.played({
    name: 'All harbours', mode: 'AGENTIC', graphData: {
      nodes: [
        node('in', 'userInput', 0, 0, { label: 'Harbours', description: 'Which ones', variables: [{ name: 'list', label: 'Which?', type: 'json', default: ['Husum', 'Dagebüll'] }] }),
        node('each', 'iteration', 280, 0, { label: 'Each harbour', description: 'Asks for each', items: '{{list}}', workflowId: id }),
        node('out', 'output', 560, 0, { label: 'All', outputType: 'json', template: '{{each.results}}' }),
      ],
      edges: edges('in -> each', 'each -> out'),
    },
    script: [planner(['each', 'Ask for each.'], ['out', 'All were asked for.'])],
  }, { list: ['Husum', 'Dagebüll'] })
  expect(outer.status).toBe('SUCCESS')
  const run = new RunView(page)
  await page.goto(`/runs/${outer.runId}`)
  const inside = run.visit(2).getByRole('region', { name: 'Runs inside' })
  await expect(inside).toContainText('2 of 2 done')
  await inside.getByRole('link', { name: /Item 2/ }).click()
  await expect(run.result).toContainText('The tide in Dagebüll')
  await page.getByRole('link', { name: `Inside run ${outer.runId.slice(0, 4)}, started by each` }).click()
  await expect(run.visits).toHaveCount(3)
})

const asks = (name: string): Document => ({
  name, mode: 'DAG', graphData: {
    nodes: [
      node('in', 'userInput', 0, 0, { label: 'Harbour', variables: [{ name: 'harbour', label: 'Which?', type: 'string', required: true }] }),
      node('say', 'humanInput', 280, 0, { label: 'Ask the pilot', prompt: 'May a ship enter {{harbour}}?', form: [{ name: 'word', label: 'Word', type: 'string', required: true }] }),
      node('out', 'output', 560, 0, { label: 'Said', outputType: 'text', template: '{{harbour}}: {{say.word}}' }),
    ],
    edges: edges('in -> say', 'say -> out'),
  },
})

/** Draws a node of this type from nothing into a workflow that has an input and an output, and leads through it. */
async function draw(page: Page, editor: Editor, type: string, label: string) {
  await editor.add(type)
  await expect(editor.nodes).toHaveCount(3)
  await editor.form.getByRole('textbox', { name: 'Label' }).fill(label)
  await page.keyboard.press('Escape')
  await editor.tool('Lay out').click()
  await expect(editor.tool('Undo: lay out')).toBeVisible()
  await editor.atRest()
  await editor.drag(editor.node('Ask'), editor.node(label))
  await editor.drag(editor.node(label), editor.node('Result'))
  await editor.click(editor.node(label))
  await expect(editor.form).toBeVisible()
}
const frame = (name: string, variable: Record<string, unknown>): Document => ({
  name, mode: 'DAG', graphData: { nodes: [node('ask', 'userInput', 0, 0, { label: 'Ask', variables: [variable] }), node('out', 'output', 560, 0, { label: 'Result', outputType: 'text' })], edges: [] },
})

test('a workflow node is drawn from nothing, its question answered from the outer page, and the run inside looked into', async ({ page, api }) => {
  const inside = await api.save(asks('Ask one harbour'))
  const { id } = await api.save(frame('Calls a harbour', { name: 'town', label: 'Which town?', type: 'string', required: true }))
  const editor = await new Editor(page).open(id)
  await draw(page, editor, 'Workflow', 'Call the harbour')
  await editor.form.getByRole('combobox', { name: 'Workflow' }).selectOption({ label: 'Ask one harbour' })
  await editor.form.getByText('More settings').click()
  const inputs = editor.form.locator('[data-field="inputs"]')
  await inputs.getByRole('button', { name: 'Add' }).click()
  await inputs.getByRole('textbox', { name: 'Name' }).fill('harbour')
  await inputs.getByRole('textbox', { name: 'Value' }).click()
  await page.keyboard.insertText('the harbour of {{town}}')
  await page.keyboard.press('Escape')
  await editor.saved()
  const stored = (await api.workflow(id)).graphData.nodes.find(one => one.type === 'workflow')?.data
  expect(stored).toMatchObject({ label: 'Call the harbour', workflowId: inside.id, inputs: { harbour: 'the harbour of {{town}}' } })

  await page.getByRole('banner').getByRole('button', { name: 'Run' }).click()
  const form = page.getByRole('dialog', { name: /^Run / })
  await form.getByLabel('Which town?').fill('Husum')
  await form.getByRole('button', { name: 'Run' }).click()
  const card = page.getByRole('region', { name: 'Runs inside' }).getByRole('form', { name: 'Question' })
  await expect(card).toContainText('Ask the pilot in Ask one harbour')
  await expect(card).toContainText('May a ship enter the harbour of Husum?')
  await card.getByLabel('Word').fill('aye')
  await card.getByRole('button', { name: 'Answer' }).click()
  const run = new RunView(page)
  await expect(run.result).toContainText('the harbour of Husum: aye')
  await page.getByRole('region', { name: 'Runs inside' }).getByRole('link').click()
  await expect(page).toHaveURL(/\/runs\//)
  await expect(page.getByRole('heading', { level: 1, name: 'Ask one harbour' })).toBeVisible()
  await expect(page.getByRole('button', { name: /Ask the pilot/ })).toBeVisible()
  await page.getByRole('link', { name: /^Inside run .*, started by / }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Calls a harbour' })).toBeVisible()
})

test('an iteration node is drawn from nothing with its limits, each item asks on the outer page, and a cancel ends all of them', async ({ page, api }) => {
  const inside = await api.save(asks('Ask each harbour'))
  const { id } = await api.save(frame('Calls all harbours', { name: 'towns', label: 'Which towns?', type: 'json', required: true }))
  const editor = await new Editor(page).open(id)
  await draw(page, editor, 'Iteration', 'Each harbour')
  await editor.write('Items', '{{towns}}')
  await page.keyboard.press('Escape')
  await editor.click(editor.node('Each harbour'))
  await editor.form.getByRole('combobox', { name: 'Workflow' }).selectOption({ label: 'Ask each harbour' })
  await editor.form.getByRole('textbox', { name: 'At once' }).fill('2')
  await editor.form.getByRole('combobox', { name: 'If an item fails' }).selectOption('continue')
  await editor.form.getByText('More settings').click()
  const inputs = editor.form.locator('[data-field="inputs"]')
  await inputs.getByRole('button', { name: 'Add' }).click()
  await inputs.getByRole('textbox', { name: 'Name' }).fill('harbour')
  await inputs.getByRole('textbox', { name: 'Value' }).click()
  await page.keyboard.insertText('{{item}}')
  await page.keyboard.press('Escape')
  await editor.saved()
  const stored = (await api.workflow(id)).graphData.nodes.find(one => one.type === 'iteration')?.data
  expect(stored).toMatchObject({ workflowId: inside.id, items: '{{towns}}', parallel: 2, onItemError: 'continue', inputs: { harbour: '{{item}}' } })

  await page.getByRole('banner').getByRole('button', { name: 'Run' }).click()
  const form = page.getByRole('dialog', { name: /^Run / })
  await form.getByLabel('Which towns?').fill('["Husum", "Büsum", "Tönning"]')
  await form.getByRole('button', { name: 'Run' }).click()
  const around = page.getByRole('region', { name: 'Runs inside' })
  await expect(around.getByRole('form', { name: 'Question' })).toHaveCount(2)
  const first = around.getByRole('form', { name: 'Question' }).filter({ hasText: 'Husum' })
  await first.getByLabel('Word').fill('aye')
  await first.getByRole('button', { name: 'Answer' }).click()
  // The third item takes the place of the first.
  await expect(around.getByRole('form', { name: 'Question' }).filter({ hasText: 'Tönning' })).toBeVisible()
  await page.getByRole('button', { name: 'Cancel', exact: true }).click()
  await page.getByRole('dialog', { name: /^Cancel this run/ }).getByRole('button', { name: /^Cancel/ }).click()
  const [outer] = (await api.get<{ items: RunDetail[] }>(`/workflows/${id}/runs`)).items
  expect((await api.ended(outer?.runId ?? '')).status).toBe('CANCELLED')
  const all = await api.get<{ items: { runId: string, status: string }[] }>(`/runs?parent=${outer?.runId}`)
  expect(all.items.map(run => run.status).sort()).toEqual(['CANCELLED', 'CANCELLED', 'SUCCESS'])
  await expect(around.getByRole('form', { name: 'Question' }).getByRole('button', { name: 'Answer' })).toHaveCount(0)
})
