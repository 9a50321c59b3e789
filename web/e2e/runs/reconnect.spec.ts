/** What a page shows when its connection breaks: it says so, and afterwards nothing is doubled or missing. */
import { documentOf, readCase } from '../kit/cases.ts'
import { edges, node, type Document } from '../kit/documents.ts'
import { Editor } from '../kit/editor.ts'
import { RunView } from '../kit/run.ts'
import { expect, test } from '../kit/test.ts'

const BROKEN = /ERR_(INTERNET_DISCONNECTED|CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING|NETWORK_CHANGED|ABORTED)|status of 503/

test('ui_after_reconnect: whoever lost the stream, in the same tab, in a new one or after the end, sees every node as it is', async ({ page, api, guard, flyback }) => {
  guard.allow(BROKEN)
  const wanted = Object.entries(readCase('14-sse-reconnect').then.find(({ check }) => check === 'ui_after_reconnect')?.node_badges ?? {})
  expect(wanted).toHaveLength(4)
  const { id } = await api.save({
    ...documentOf('14-sse-reconnect'),
    script: [{ for: { node: 'a' }, replies: [{ text: 'A', delayMs: 6000 }] }, { for: { node: 'b' }, replies: [{ text: 'B', delayMs: 1500 }] }],
  })
  const { runId } = await api.start(id, { q: 'x' })
  const editor = await new Editor(page).open(id, `?run=${runId}&panel=visits`)
  const showsAll = async (shown: Editor) => {
    for (const [nodeId, status] of wanted) await expect(shown.byId(nodeId)).toHaveAttribute('data-status', status, { timeout: 30_000 })
  }
  await expect(editor.panel).toContainText('Level 1')
  await expect(editor.byId('a')).toHaveAttribute('data-status', 'RUNNING')
  await flyback.kill()
  await expect(page.getByText('Reconnecting… nothing is lost').first()).toBeVisible()
  await flyback.start()
  const tab = await page.context().newPage()
  const late = await new Editor(tab).open(id, `?run=${runId}&panel=visits`)
  await showsAll(editor)
  await showsAll(late)
  await tab.reload()
  await showsAll(late)
  await expect(new RunView(tab).result).toContainText('B')
})

test('a server that is killed while it streams and started again leaves nothing doubled and nothing missing', async ({ page, api, flyback, guard }) => {
  guard.allow(BROKEN)
  const { id } = await api.save(slow)
  const { runId } = await api.start(id)
  const editor = await new Editor(page).open(id, `?run=${runId}&panel=visits`)
  const run = new RunView(page)
  await expect(run.visit(2)).toContainText('three')
  await flyback.kill()
  await expect(page.getByText('Reconnecting… nothing is lost').first()).toBeVisible()
  await expect(run.visits).toHaveCount(2)
  await flyback.start()
  await expect(run.result).toContainText('one two three four five six seven eight nine ten', { timeout: 30_000 })
  await expect(page.getByText('Reconnecting… nothing is lost')).toHaveCount(0)

  const visits = await api.visits(runId)
  await expect(run.visits).toHaveCount(visits.length)
  for (const [index, visit] of visits.entries()) await expect(run.title(index + 1)).toContainText(visit.nodeLabel)
  await expect(run.stops).toHaveCount(visits.length)
  await expect(editor.node('Count').getByRole('button', { name: /^Visit \d+/ })).toHaveCount(visits.filter(visit => visit.nodeId === 'count').length)

  // Opened anew it is the same list.
  const titles = await run.visits.getByRole('heading', { level: 3 }).allInnerTexts()
  await page.goto(`/runs/${runId}`)
  await expect(run.visits).toHaveCount(visits.length)
  expect(await run.visits.getByRole('heading', { level: 3 }).allInnerTexts()).toEqual(titles)
})

const slow: Document = {
  name: 'Slow count', mode: 'AGENTIC', graphData: {
    nodes: [
      node('in', 'userInput', 0, 0, { label: 'In', variables: [{ name: 'q', label: 'q', type: 'string', default: 'x' }] }),
      node('count', 'llm', 280, 0, { label: 'Count', userPrompt: 'Count {{q}}' }),
      node('out', 'output', 560, 0, { label: 'Out', outputType: 'text', template: '{{count.text}}' }),
    ],
    edges: edges('in -> count', 'count -> out'),
  },
  script: [
    { for: { node: 'count' }, replies: [{ stream: ['one', ' two', ' three', ' four', ' five', ' six', ' seven', ' eight', ' nine', ' ten'], everyMs: 400 }], repeatLast: true },
    { for: { role: 'planner' }, replies: [{ next: 'count', reason: 'Count.' }, { next: 'count', reason: 'Count once more.' }, { next: 'out', reason: 'Counted.' }] },
  ],
}
