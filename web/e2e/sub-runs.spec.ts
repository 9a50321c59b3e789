/** Runs inside a run: seen in the card of the node that started them, with a way down and up again. */
import { edges, node, planner, type Document } from './kit/documents.ts'
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
