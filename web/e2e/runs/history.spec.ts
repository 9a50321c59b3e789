/** Stored runs: found, replayed step by step, explained decision by decision, laid side by side. */
import { letter, node, planner } from '../kit/documents.ts'
import { Editor } from '../kit/editor.ts'
import { invoiceCheck } from '../kit/questions.ts'
import { RunView } from '../kit/run.ts'
import { expect, test } from '../kit/test.ts'

test('a stored run is replayed by its scrubber, and the drawing shows the route up to there', async ({ page, api }) => {
  const { run } = await api.played(letter('Replayed'), { who: 'Ada' })
  await page.goto(`/runs/${run.runId}?tab=route`)
  const shown = new RunView(page)
  const editor = new Editor(page)
  const slider = page.getByRole('slider', { name: 'Replay' })
  await expect(slider).toHaveAttribute('aria-valuemax', '7')
  // Read → Draft twice is one line, Draft → Send the other.
  await expect(shown.arcs).toHaveCount(2)
  await expect(editor.canvas.getByRole('button', { name: /^4.*Read → Draft/ })).toHaveText('4 · 6')
  await slider.focus()
  await page.keyboard.press('Home')
  await expect(slider).toHaveAttribute('aria-valuetext', 'Visit 1 of 7, Ask')
  await expect(shown.arcs).toHaveCount(0)
  for (const [n, label] of [[2, 'Draft'], [3, 'Read'], [4, 'Draft']] as const) {
    await page.keyboard.press('ArrowRight')
    await expect(slider).toHaveAttribute('aria-valuetext', `Visit ${n} of 7, ${label}`)
  }
  await expect(shown.arcs).toHaveCount(1)
  await expect(editor.node('Send')).toHaveAttribute('data-status', 'PENDING')
  await page.keyboard.press('End')
  await expect(editor.node('Send')).toHaveAttribute('data-status', 'SUCCESS')
  await page.keyboard.press('Home')
  await page.getByRole('radio', { name: 'Max' }).check({ force: true })
  await page.getByRole('region', { name: 'Replay' }).getByRole('button', { name: 'Play' }).click()
  await expect(slider).toHaveAttribute('aria-valuetext', 'Visit 7 of 7, Send')
})

test('a run is found by its filters, and every view of it has an address', async ({ page, api }) => {
  const { workflow } = await api.played(letter('Found again'), { who: 'Ada' })
  const failing = letter('Found failing')
  failing.graphData.nodes[1] = node('draft', 'llm', 280, 120, { label: 'Draft', userPrompt: 'Write.', failStrategy: 'abort' })
  failing.script = [{ for: { node: 'draft' }, replies: [{ httpError: 400 }] }, planner(['draft', 'Write.'])]
  const { run: failed } = await api.played(failing, { who: 'Bob' })
  await page.goto('/runs')
  const rows = page.getByRole('row').filter({ has: page.getByRole('link') })
  await page.getByRole('searchbox', { name: 'Search name, id or error' }).fill('Found')
  await expect(rows).toHaveCount(2)
  await page.getByRole('combobox', { name: 'Status' }).selectOption('failed')
  await expect(rows).toHaveCount(1)
  await expect(page).toHaveURL(/status=FAILED/)
  await page.reload()
  await expect(rows).toHaveCount(1)
  await rows.getByRole('link').first().click()
  await expect(page).toHaveURL(new RegExp(`/runs/${failed.runId}`))
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Found failing')
  await page.goBack()
  await expect(page).toHaveURL(/status=FAILED/)

  await page.goto(`/workflows/${workflow.id}/runs`)
  await expect(rows).toHaveCount(1)
  await rows.getByRole('link').first().click()
  const run = new RunView(page)
  await expect(run.visits).toHaveCount(7)
  await run.title(4).click()
  await expect(page).toHaveURL(/visit=4/)
  const address = page.url()
  await page.goto('/models')
  await page.goto(address)
  await expect(run.visit(4)).toHaveAttribute('aria-current', 'true')
  for (const tab of ['Decisions', 'Route', 'Result', 'Inputs', 'Usage', 'Events']) {
    await page.getByRole('tab', { name: tab }).click()
    await expect(page).toHaveURL(new RegExp(`tab=${tab.toLowerCase()}`))
    await expect(page.getByRole('tabpanel', { name: tab })).toBeVisible()
  }
  await expect(page.getByRole('list', { name: 'Events' }).getByRole('listitem').first()).toContainText('run_started')
})

test('the list of runs is alive: a run that is started elsewhere appears and ends in it', async ({ page, api }) => {
  const { id } = await api.save(letter('Alive'))
  await page.goto(`/workflows/${id}/runs`)
  await expect(page.getByText('No runs yet. Press Run and watch the route appear.')).toBeVisible()
  await api.ran(id, { who: 'Ada' })
  await expect(page.getByRole('row').filter({ has: page.getByRole('link') })).toContainText('done')
})

test('a row says where its run went and which version it ran, in both modes', async ({ page, api }) => {
  const { id } = await api.save(letter('Rows of visits'))
  await api.post(`/workflows/${id}/versions`, { note: 'First' })
  await api.ended((await api.start(id, { who: 'Ada' }, { version: 1 })).runId)
  await api.asking(invoiceCheck('Rows of nodes'))
  await page.goto('/runs?q=Rows')
  const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name }) })
  await expect(row('Rows of visits')).toContainText('version 1 · Ada')
  await expect(row('Rows of visits')).toContainText('7 visits · 4 fly-backs')
  await expect(row('Rows of nodes')).toContainText('the draft · 12000')
  await expect(row('Rows of nodes')).toContainText('2 nodes · Ask accounting')
})

test('the decision trail says who decided what and why, and which steps left the drawing', async ({ page, api }) => {
  const document = letter('Trail')
  document.script = [
    ...(document.script ?? []).slice(0, 2),
    {
      for: { role: 'planner' }, replies: [
        { next: 'nowhere', reason: 'A node that is not there.' }, { next: 'draft', reason: 'The name is known: write.' },
        { httpError: 500 }, { httpError: 500 },
        { next: 'draft', reason: 'The day is missing, and no line leads back: write again.' }, { next: 'send', reason: 'Good enough.' },
      ],
    },
  ]
  const { run, workflow } = await api.played(document, { who: 'Ada' })
  await page.goto(`/runs/${run.runId}?tab=decisions`)
  const trail = page.getByRole('list', { name: 'Decisions' })
  await expect(trail.getByRole('listitem')).toHaveCount(run.visitCount === null ? 0 : (run.visitCount ?? 1) - 1)
  await expect(trail.getByRole('listitem').nth(0)).toContainText(/1 answer rejected.*nowhere.*there is no node 'nowhere' in the list/)
  await expect(trail.getByRole('listitem').nth(1)).toContainText('fallback')
  await expect(trail.getByRole('listitem').nth(1)).toContainText('Cause:')
  await page.getByRole('radio', { name: /Off the drawing/ }).check({ force: true })
  for (const item of await trail.getByRole('listitem').all()) await expect(item).toContainText('off the drawing')
  await expect(trail).toContainText('The day is missing, and no line leads back: write again.')

  await page.goto(`/workflows/${workflow.id}/runs`)
  await page.getByRole('radio', { name: 'Decisions' }).check({ force: true })
  await expect(page.getByText('Good enough.')).toBeVisible()
  await expect(page.getByRole('heading', { name: 'Why the planner fell back' })).toBeVisible()
})

test('two runs stand side by side, from the first step at which they differ', async ({ page, api }) => {
  const { workflow, run: a } = await api.played(letter('Compared'), { who: 'Ada' })
  const short = letter('Compared')
  short.script = [...(short.script ?? []).slice(0, 2), { for: { role: 'planner' }, replies: [{ next: 'draft', reason: 'Write.' }, { next: 'send', reason: 'Nobody reads it: send at once.' }] }]
  await api.put(`/workflows/${workflow.id}`, { ...workflow, script: short.script })
  const b = await api.ran(workflow.id, { who: 'Ada' })
  await page.goto(`/workflows/${workflow.id}/runs`)
  await page.getByRole('checkbox', { name: new RegExp(a.runId.slice(0, 4)) }).check()
  await page.getByRole('checkbox', { name: new RegExp(b.runId.slice(0, 4)) }).check()
  await page.getByRole('link', { name: 'Compare' }).click()
  await expect(page).toHaveURL(/\/runs\/compare\?a=.*&b=.*/)
  await expect(page.getByRole('heading', { level: 1, name: 'Comparison' })).toBeVisible()
  await expect(page.getByText('Nobody reads it: send at once.').first()).toBeVisible()
  await expect(page.getByText('A draft is there: read it.').first()).toBeVisible()
})

test('a run is cancelled while it works, and run again with what it was given', async ({ page, api }) => {
  const document = letter('Stopped')
  document.script = [{ for: { node: 'draft' }, replies: [{ hang: true }] }, ...(document.script ?? []).slice(2)]
  const { id } = await api.save(document)
  const { runId } = await api.start(id, { who: 'Grace' })
  await page.goto(`/runs/${runId}`)
  await page.getByRole('banner').getByRole('button', { name: 'Cancel the run' }).click()
  // It cannot be undone, so it asks.
  const ask = page.getByRole('dialog', { name: 'Cancel this run?' })
  await expect(ask).toContainText('The 2 visits so far stay.')
  await ask.getByRole('button', { name: 'Let it run' }).click()
  await expect(ask).toHaveCount(0)
  await page.keyboard.press('Control+.')
  await ask.getByRole('button', { name: 'Cancel the run' }).click()
  await expect(page.getByRole('banner').getByText('cancelled')).toBeVisible()
  expect((await api.detail(runId)).status).toBe('CANCELLED')
  await page.getByRole('button', { name: 'Run again' }).click()
  await expect(page.getByRole('dialog', { name: /^Run / }).getByLabel('For whom?')).toHaveValue('Grace')
})
