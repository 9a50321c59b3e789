/** Tools as they are called, and a person who is asked before one runs. */
import type { RunDetail } from '../src/api/types.ts'
import { edges, node, planner, type Document, type Reply } from './kit/documents.ts'
import { Editor } from './kit/editor.ts'
import { RunView } from './kit/run.ts'
import { expect, test } from './kit/test.ts'

test.use({ served: 'with tools' })

const call = (tool: string, args: unknown): Reply => ({ tool: { name: `desk__${tool}`, args } })
const desk = (name: string, replies: Reply[], data: Record<string, unknown> = {}): Document => ({
  name, mode: 'AGENTIC', graphData: {
    nodes: [
      node('ask', 'userInput', 0, 0, { label: 'Question', description: 'What is asked', variables: [{ name: 'q', label: 'What?', type: 'string', default: 'Two and three' }] }),
      node('work', 'smartAction', 280, 0, { label: 'Work it out', description: 'Uses the tools of the desk', instruction: 'Answer {{q}}', mcpServers: ['desk'], ...data }),
      node('out', 'output', 560, 0, { label: 'Answer', outputType: 'text', template: '{{work.final_response}}' }),
    ],
    edges: edges('ask -> work', 'work -> out'),
  },
  script: [{ for: { node: 'work' }, replies }, planner(['work', 'Work it out.'], ['out', 'It is worked out.'])],
})

test('each call of a tool stands in the card, with what was given, what came back and what went wrong', async ({ page, api }) => {
  const { id } = await api.save(desk('Tools', [call('add', { a: 2, b: 3 }), call('fail', { why: 'No ink left.' }), { text: 'Five.', delayMs: 400 }]))
  const { runId } = await api.start(id)
  await page.goto(`/runs/${runId}`)
  const run = new RunView(page)
  const tools = run.visit(2).getByRole('list', { name: 'Tools used' })
  await expect(tools.getByRole('listitem')).toHaveCount(2)
  await expect(run.result).toContainText('Five.')
  const [added, failed] = [tools.getByRole('listitem').nth(0), tools.getByRole('listitem').nth(1)]
  await expect(added).toContainText('desk · add')
  await expect(added).toContainText('a: 2, b: 3')
  await expect(added).toHaveAttribute('data-status', 'SUCCESS')
  await expect(failed).toHaveAttribute('data-status', 'FAILED')
  await expect(failed).toContainText('No ink left.')
  await added.getByRole('button').first().click()
  await expect(added).toContainText('Received')
  await expect(added).toContainText('sum')
})

test('a tool that asks first shows exactly what it will be given, and runs when it is allowed', async ({ page, api }) => {
  const document = desk('Asks first', [call('echo', { text: 'pay 12,000\u202eEUR' }), { text: 'Said.' }], { approval: ['desk__echo'] })
  const { workflow, runId } = await api.asking(document)
  const editor = await new Editor(page).open(workflow.id, `?run=${runId}&panel=visits`)
  await editor.atRest()
  const run = new RunView(page)
  const card = run.visit(2).getByRole('form', { name: 'Question' })
  await expect(card).toContainText('May the tool echo of desk run?')
  const asked = card.getByRole('region', { name: 'Call of echo' })
  await expect(asked).toContainText('of the server desk')
  await expect(asked.locator('pre')).toHaveText('{\n  "text": "pay 12,000\\u202eEUR"\n}')
  await expect(card.locator('button:focus')).toHaveCount(0)
  await card.getByRole('textbox', { name: 'Note' }).fill('This once.')
  await card.getByRole('button', { name: 'Allow once' }).click()
  await expect(run.result).toContainText('Said.')
  await page.reload()
  await expect(run.visit(2)).toContainText(/Allowed by /)
  await expect(run.visit(2)).toContainText('This once.')
  await expect(run.visit(2).getByRole('list', { name: 'Tools used' }).getByRole('listitem')).toHaveAttribute('data-status', 'SUCCESS')
})

test('a tool that was refused does not run, and the agent is told why', async ({ page, api }) => {
  const { runId, pause } = await api.asking(desk('Refused', [call('echo', { text: 'pay' }), { text: 'Then not.' }], { approval: ['*'] }))
  await page.goto(`/inbox/${pause.pauseId}`)
  const card = new RunView(page).questions
  await card.getByRole('textbox', { name: 'Note' }).fill('Too much.')
  await card.getByRole('button', { name: 'Refuse' }).click()
  await expect(card).toContainText('Your answer is in. The run goes on.')
  await api.ended(runId)
  const detail = await api.get<RunDetail>(`/runs/${runId}`)
  expect(detail.status).toBe('SUCCESS')
  await page.goto(`/runs/${runId}`)
  await expect(new RunView(page).visit(2)).toContainText(/Refused by /)
  await expect(new RunView(page).visit(2)).toContainText('Too much.')
})
