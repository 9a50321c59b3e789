/** What waits for a person over all runs: found, understood and answered without opening the runs. */
import type { Pause } from '../src/api/types.ts'
import { edges, node, planner, type Document } from './kit/documents.ts'
import { invoiceCheck, tripPlanner } from './kit/questions.ts'
import { RunView } from './kit/run.ts'
import { expect, test } from './kit/test.ts'

test('each question stands with its node and workflow by name, is searched for and answered from the list', async ({ page, api }) => {
  await api.asking(tripPlanner('Tidal trips'))
  const { runId } = await api.asking(invoiceCheck('Tidal invoices'))
  await page.goto('/inbox')
  const list = page.getByRole('region', { name: 'Questions' })
  const row = (name: string) => list.getByRole('listitem').filter({ has: page.getByRole('link', { name, exact: true }) })
  await expect(row('Tidal trips')).toContainText('Question · Plan the trip')
  await expect(row('Tidal trips')).toContainText('How will you get there?')
  await expect(row('Tidal invoices')).toContainText('Form · Ask accounting')
  await page.keyboard.press('/')
  await page.keyboard.type('tidal accounting')
  await expect(list.getByRole('listitem')).toHaveCount(1)
  await row('Tidal invoices').getByRole('link').click()
  const card = new RunView(page).questions
  await expect(card).toContainText('Ask accounting in Tidal invoices')
  const standing = page.getByRole('complementary', { name: 'About its run' })
  await expect(standing).toContainText('1 of 5 nodes')
  await expect(standing.getByRole('list', { name: 'What was done before' })).toContainText('Invoice')
  await expect(standing).toContainText('12000')
  await card.getByRole('button', { name: 'Book it' }).click()
  await expect(card).toContainText('Your answer is in. The run goes on.')
  expect((await api.ended(runId)).status).toBe('SUCCESS')
  await expect(list).toContainText('No question fits this search.')
  await list.getByText('Answered', { exact: true }).click()
  await expect(row('Tidal invoices')).toContainText('Answered by')
})

const short = (name: string): Document => ({
  name, mode: 'AGENTIC', graphData: {
    nodes: [
      node('in', 'userInput', 0, 0, { label: 'Town', description: 'Which', variables: [{ name: 'town', label: 'Which?', type: 'string', default: 'Husum' }] }),
      node('look', 'template', 280, 0, { label: 'Look it up', description: 'Looks it up', template: 'Two ways lead to {{town}}.' }),
      node('go', 'smartAction', 560, 0, { label: 'Choose the way', description: 'Asks which way', instruction: 'Which way?' }),
      node('out', 'output', 840, 0, { label: 'Way', outputType: 'text', template: '{{go.final_response}}' }),
    ],
    edges: edges('in -> look', 'look -> go', 'go -> out'),
  },
  script: [
    { for: { node: 'go' }, replies: [{ tool: { name: 'clarify', args: { question: 'Which way?', choices: ['By the dike', 'By the road'] } } }, { echoLastAnswer: 'You go ' }] },
    planner(['look', 'Look it up first.'], ['go', 'Two ways are known: let the person choose.'], ['out', 'It is chosen.']),
  ],
})

test('questions are gone through with keys alone, each with where its run stands', async ({ page, api }) => {
  const [first, second] = [await api.asking(short('Way one')), await api.asking(short('Way two'))]
  await page.goto(`/inbox/${first.pause.pauseId}`)
  const card = new RunView(page).questions
  const standing = page.getByRole('complementary', { name: 'About its run' })
  await expect(card).toContainText('Choose the way in Way one')
  await expect(standing).toContainText('visit 3 of 50')
  await expect(standing).toContainText('Two ways are known: let the person choose.')
  await expect(standing.getByRole('list', { name: 'What was done before' }).getByRole('listitem')).toHaveCount(2)
  await expect(standing).toContainText('Two ways lead to Husum.')
  await page.keyboard.press('j')
  await expect(card).toContainText('Choose the way in Way two')
  await page.keyboard.press('2')
  await expect(card.getByRole('radio', { name: 'By the road' })).toBeChecked()
  await page.keyboard.press('Control+Enter')
  await expect(card).toContainText('Your answer is in.')
  expect((await api.ended(second.runId)).outputs).toEqual([{ nodeId: 'out', result: 'You go By the road' }])
  await page.keyboard.press('k')
  await page.keyboard.press('1')
  await page.keyboard.press('Control+Enter')
  expect((await api.ended(first.runId)).outputs).toEqual([{ nodeId: 'out', result: 'You go By the dike' }])
})

test('a question that comes while the inbox is open appears in it', async ({ page, api }) => {
  await page.goto('/inbox')
  const list = page.getByRole('region', { name: 'Questions' })
  await expect(list).toBeVisible()
  const { pause } = await api.asking(short('Came later'))
  await expect(list.getByRole('link', { name: 'Came later' })).toBeVisible()
  await api.post(`/pauses/${pause.pauseId}/answer`, { answer: 'By the dike' })
  await expect(list.getByRole('link', { name: 'Came later' })).toHaveCount(0)
  expect((await api.get<Pause>(`/pauses/${pause.pauseId}`)).status).toBe('ANSWERED')
})
