/** From any visit on, otherwise: a new run that shows where it comes from, and what it shares. */
import type { Locator, Page } from '@playwright/test'
import type { RunDetail } from '../src/api/types.ts'
import { letter } from './kit/documents.ts'
import { RunView } from './kit/run.ts'
import { expect, test } from './kit/test.ts'

const dialogOf = (page: Page): Locator => page.getByRole('dialog', { name: /^Fork from visit / })

test('a person edits a variable, says where to go on and why, and sees both runs side by side', async ({ page, api, guard }) => {
  guard.allow(/status of 422/)
  const { run: first } = await api.played(letter('Forked'), { who: 'Ada' })
  const run = new RunView(page)
  await page.goto(`/runs/${first.runId}`)
  await run.visit(3).getByRole('button', { name: 'Fork from here' }).click()
  const dialog = dialogOf(page)
  await expect(dialog).toContainText('A new run begins with visits 1 to 3, which are not run again, and goes on from there.')
  await dialog.getByLabel('Go on to').selectOption({ label: 'Send' })
  await dialog.getByLabel(/^Why/).fill('Good enough as it is.')
  await dialog.getByRole('button', { name: 'Edit draft__text' }).click()
  await dialog.getByLabel('Value of draft__text').fill('Dear Ada, come whenever you like.')
  await dialog.getByRole('button', { name: 'Add a variable' }).click()
  const name = dialog.getByLabel('Name, such as draft__text')
  await name.fill('nowhere')
  await dialog.getByRole('button', { name: 'Fork', exact: true }).click()
  await expect(dialog.locator('.edit').last()).toContainText('is neither in the workspace nor declared')
  await name.fill('read__note')
  await dialog.getByRole('button', { name: 'Fork', exact: true }).click()

  await expect(page).not.toHaveURL(new RegExp(first.runId))
  await expect(run.result).toContainText('Dear Ada, come whenever you like.')
  await expect(run.visits).toHaveCount(4)
  const shared = `shared with run ${first.runId.slice(0, 4)}, not run again`
  for (const n of [1, 2, 3]) await expect(run.visit(n)).toContainText(shared)
  await expect(run.visit(4)).not.toContainText('shared with')
  await expect(run.visit(3)).toContainText('Edited by a person:')
  await expect(run.visit(3)).toContainText('draft__text')
  await expect(run.decisionAfter(3)).toContainText('Person → Send')
  await expect(run.decisionAfter(3)).toContainText('Good enough as it is.')

  const origin = page.getByRole('link', { name: `Forked from visit 3 of run ${first.runId.slice(0, 4)}` })
  await expect(origin).toHaveAttribute('href', new RegExp(`/runs/${first.runId}\\?.*visit=3`))
  await page.getByRole('link', { name: 'Compare with it' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Comparison' })).toBeVisible()
  await expect(page.getByText('shared', { exact: true }).first()).toBeVisible()
})

test('the planner decides anew where nothing is forced, and what does not fit is said beside its field', async ({ page, api }) => {
  const { run: first } = await api.played(letter('Forked anew'), { who: 'Ada' })
  const run = new RunView(page)
  await page.goto(`/workflows/${first.workflowId}?run=${first.runId}&panel=visits`)
  await run.visit(2).getByRole('button', { name: 'Fork from here' }).click()
  const dialog = dialogOf(page)
  await dialog.getByRole('button', { name: 'Edit who' }).click()
  await dialog.getByRole('button', { name: 'Text', exact: true }).click()
  await dialog.getByLabel('Value of who').fill('{')
  await page.keyboard.press('Control+Enter')
  await expect(dialog).toContainText('This is no JSON.')
  await dialog.getByLabel('Value of who').fill('"Grace"')
  await page.keyboard.press('Control+Enter')
  await expect(dialog).toHaveCount(0)
  await expect(run.result).toBeVisible()
  const forkId = new URL(page.url()).searchParams.get('run') ?? ''
  expect(forkId).not.toBe(first.runId)
  const fork = await api.get<RunDetail>(`/runs/${forkId}`)
  expect([fork.parentRunId, fork.forkedFromVisit, fork.visits?.[1]?.edited]).toEqual([first.runId, (await api.visits(first.runId))[1]?.visitId, expect.arrayContaining(['who'])])
  expect(fork.visits?.[1]?.decision?.source).toBe('planner')
})

test('a run that is still on can be forked from a visit that has ended, and a DAG run not at all', async ({ page, api }) => {
  const run = new RunView(page)
  const slow = letter('Still on')
  slow.script = [{ for: { node: 'draft' }, replies: [{ hang: true }] }, { for: { role: 'planner' }, replies: [{ next: 'draft', reason: 'Write.' }] }]
  const { id } = await api.save(slow)
  const { runId } = await api.start(id, { who: 'Ada' })
  await page.goto(`/runs/${runId}`)
  await expect(run.visit(2)).toHaveAttribute('data-status', 'RUNNING')
  await expect(run.visit(2).getByRole('button', { name: 'Fork from here' })).toHaveCount(0)
  await expect(run.visit(1).getByRole('button', { name: 'Fork from here' })).toBeVisible()
  await api.post(`/runs/${runId}/cancel`)
  const dag = await api.played({ ...letter('A DAG'), mode: 'DAG', script: [{ for: { node: 'draft' }, replies: [{ text: 'Dear Ada' }] }, { for: { node: 'read' }, replies: [{ text: 'Fine' }] }] }, { who: 'Ada' })
  await page.goto(`/runs/${dag.run.runId}`)
  await page.getByRole('button', { name: /\bDraft\b/ }).click()
  await expect(page.getByRole('article')).toHaveCount(1)
  await expect(page.getByRole('button', { name: 'Fork from here' })).toHaveCount(0)
})
