/** Integers that a browser's numbers would round: what is shown, saved and sent is the very number. */
import type { RunDetail } from '../src/api/types.ts'
import { edges, node, planner, type Document } from './kit/documents.ts'
import { Editor } from './kit/editor.ts'
import { RunView } from './kit/run.ts'
import { expect, test } from './kit/test.ts'

test.use({ served: 'with tools' })

const ACCOUNT = 9007199254740993n
const SHOWN = String(ACCOUNT)

const transfer: Document = {
  name: 'Transfer', mode: 'AGENTIC', graphData: {
    nodes: [
      node('ask', 'userInput', 0, 0, { label: 'Account', description: 'Which one', variables: [{ name: 'account', label: 'Which account?', type: 'integer', required: true }] }),
      node('pay', 'tool', 280, 0, { label: 'Pay', description: 'Pays', server: 'desk', tool: 'add', arguments: { a: '{{account}}', b: 0 }, approval: true }),
      node('out', 'output', 560, 0, { label: 'Paid', outputType: 'json', template: '{{pay.json}}' }),
    ],
    edges: edges('ask -> pay', 'pay -> out'),
  },
  script: [planner(['pay', 'Pay it.'], ['out', 'It is paid.'])],
}

test('a person allows the number that is sent, and reads it in every place afterwards', async ({ page, api }) => {
  const { id } = await api.save(transfer)
  await new Editor(page).open(id)
  const run = new RunView(page)
  await page.getByRole('banner').getByRole('button', { name: 'Run' }).click()
  const form = page.getByRole('dialog', { name: /^Run / })
  await form.getByLabel('Which account?').fill(SHOWN)
  await form.getByRole('button', { name: 'Run' }).click()
  const card = run.visit(2).getByRole('form', { name: 'Question' })
  await expect(card.getByRole('region', { name: 'Call of add' }).locator('pre')).toHaveText(`{\n  "a": ${SHOWN},\n  "b": 0\n}`)
  await card.getByRole('button', { name: 'Allow once' }).click()
  const [latest] = (await api.get<{ items: RunDetail[] }>(`/workflows/${id}/runs`)).items
  expect((await api.ended(latest?.runId ?? '')).outputs).toEqual([{ nodeId: 'out', result: { sum: ACCOUNT } }])
  await expect(run.result).toContainText(SHOWN)
  await page.getByRole('link', { name: 'Open the run' }).click()
  await expect(run.visit(2).getByRole('list', { name: 'Tools used' })).toContainText(`a: ${SHOWN}, b: 0`)
  await run.visit(2).getByRole('button', { name: 'Output' }).click()
  await run.visit(2).getByRole('button', { name: /^Workspace/ }).click()
  await expect(run.visit(2).getByText(SHOWN).nth(2)).toBeVisible()
  await page.getByRole('tab', { name: 'Inputs' }).click()
  await expect(page.getByRole('main')).toContainText(SHOWN)
  await page.getByRole('tab', { name: 'Events' }).click()
  await expect(page.getByRole('main')).toContainText(SHOWN)
  expect(await page.getByRole('main').innerText()).not.toContain(String(Number(ACCOUNT)))
})

test('a document keeps such numbers through editing, and a number that is typed is stored as it is', async ({ page, api }) => {
  const { id } = await api.save({
    name: 'Kept', mode: 'DAG', graphData: {
      nodes: [
        node('ask', 'userInput', 0, 0, { label: 'Account', variables: [{ name: 'account', label: 'Which?', type: 'integer', default: ACCOUNT }] }),
        node('pay', 'tool', 280, 0, { label: 'Pay', server: 'desk', tool: 'add', arguments: { a: ACCOUNT, b: 1 }, theirs: [ACCOUNT] }),
        node('out', 'output', 560, 0, { label: 'Paid', outputType: 'json' }),
      ],
      edges: edges('ask -> pay', 'pay -> out'),
    },
  })
  const editor = await new Editor(page).open(id)
  await editor.click(editor.node('Pay'))
  await expect(editor.field('Arguments')).toContainText(`"a": ${SHOWN}`)
  await editor.field('Label').fill('Pay once')
  await editor.write('Arguments', `{"a": ${SHOWN}, "b": -${SHOWN}}`)
  await page.keyboard.press('Escape')
  await editor.saved()
  const stored = async () => (await api.workflow(id)).graphData.nodes.map(({ data }) => data)
  await expect.poll(stored).toMatchObject([
    { variables: [{ default: ACCOUNT }] },
    { label: 'Pay once', arguments: { a: ACCOUNT, b: -ACCOUNT }, theirs: [ACCOUNT] },
    {},
  ])
  await page.getByRole('banner').getByRole('button', { name: 'Run' }).click()
  await expect(page.getByRole('dialog', { name: /^Run / }).getByLabel('Which?')).toHaveValue(SHOWN)
})
