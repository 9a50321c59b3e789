/** Every page in both themes: nothing that axe calls serious or critical. */
import AxeBuilder from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import type { Run, Workflow } from '../src/api/types.ts'
import type { Api } from './kit/api.ts'
import { letter } from './kit/documents.ts'
import { Editor } from './kit/editor.ts'
import { stillness } from './kit/stillness.ts'
import { tripPlanner } from './kit/questions.ts'
import { expect, test } from './kit/test.ts'

let workflow: Workflow
let run: Run
let other: Run

test.beforeAll(async ({ flyback }) => {
  const api: Api = flyback.api
  const played = await api.played(letter('Looked at'), { who: 'Ada' })
  workflow = played.workflow
  run = played.run
  other = await api.ran(workflow.id, { who: 'Bob' })
  await api.post(`/workflows/${workflow.id}/versions`, { note: 'first' })
  await api.put(`/workflows/${workflow.id}`, { ...await api.workflow(workflow.id), description: 'Changed since.' })
  await api.post(`/workflows/${workflow.id}/versions`, { note: 'second' })
})

/** What is to be seen, and what must stand there before it is looked at. */
const VIEWS: [name: string, address: () => string, ready: (page: Page) => Promise<unknown>][] = [
  ['workflows', () => '/workflows', page => expect(page.getByRole('row').first()).toBeVisible()],
  ['editor', () => `/workflows/${workflow.id}`, page => expect(new Editor(page).nodes).toHaveCount(4)],
  ['editor with a run', () => `/workflows/${workflow.id}?run=${run.runId}&panel=visits`, page => expect(page.getByRole('article')).toHaveCount(7)],
  ['editor with decisions', () => `/workflows/${workflow.id}?run=${run.runId}&panel=decisions`, page => expect(page.getByRole('list', { name: 'Decisions' })).toBeVisible()],
  ['versions', () => `/workflows/${workflow.id}/versions`, page => expect(page.getByText('Version 2').first()).toBeVisible()],
  ['difference', () => `/workflows/${workflow.id}/versions/1/diff/2`, page => expect(page.getByRole('heading', { level: 1 })).toBeVisible()],
  ['runs', () => '/runs', page => expect(page.getByRole('row').nth(1)).toBeVisible()],
  ['runs of a workflow', () => `/workflows/${workflow.id}/runs`, page => expect(page.getByRole('row').nth(1)).toBeVisible()],
  ...['visits', 'decisions', 'route', 'result', 'inputs', 'usage', 'events'].map((tab): typeof VIEWS[number] =>
    [`run, ${tab}`, () => `/runs/${run.runId}?tab=${tab}`, page => expect(page.getByRole('tabpanel')).not.toBeEmpty()]),
  ['comparison', () => `/runs/compare?a=${run.runId}&b=${other.runId}`, page => expect(page.getByRole('heading', { level: 1 })).toBeVisible()],
  ['inbox', () => '/inbox', page => expect(page.getByText('Nothing waits for you.', { exact: false }).first()).toBeVisible()],
  ['models', () => '/models', page => expect(page.getByRole('heading', { name: 'scripted' })).toBeVisible()],
  ['skills', () => '/skills', page => expect(page.getByRole('main').getByRole('listitem').first()).toBeVisible()],
  ['MCP servers', () => '/mcp-servers', page => expect(page.getByText('No MCP servers yet', { exact: false })).toBeVisible()],
  ['settings', () => '/settings', page => expect(page.getByLabel('Default model')).toBeVisible()],
  ['nothing', () => '/nowhere', page => expect(page.getByRole('heading', { level: 1, name: 'Not found' })).toBeVisible()],
]

for (const [name, address, ready] of VIEWS) {
  test(`${name} can be used by everybody, in both themes`, async ({ page, guard }) => {
    if (name === 'nothing') guard.allow(/status of 404/)
    await page.goto(address())
    await ready(page)
    await expectAccessible(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')
    await expectAccessible(page)
  })
}

for (const theme of ['light', 'dark'] as const) {
  test(`dialogs, menus and a form can be used by everybody, in ${theme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: theme })
    await page.goto('/workflows')
    await page.getByRole('banner').getByRole('button', { name: 'New workflow' }).click()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await expect(page.getByRole('option').first()).toBeVisible()
    await expectAccessible(page)
    await page.goto('/models')
    await page.getByRole('button', { name: 'Add a model' }).click()
    await expectAccessible(page)
    const editor = await new Editor(page).open(workflow.id)
    await editor.click(editor.node('Draft'))
    await expect(editor.field('User prompt')).toBeVisible()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await page.getByRole('banner').getByRole('button', { name: 'Run' }).click()
    await expect(page.getByRole('dialog', { name: /^Run / })).toBeVisible()
    await expectAccessible(page)
  })
}

test('questions and a fork can be used by everybody, in both themes', async ({ page, api }) => {
  const { workflow: asking, runId, pause } = await api.asking(tripPlanner())
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme })
    await page.goto(`/inbox/${pause.pauseId}`)
    await expect(page.getByRole('form', { name: 'Question' })).toBeVisible()
    await expectAccessible(page)
    const editor = await new Editor(page).open(asking.id, `?run=${runId}&panel=visits`)
    await editor.atRest()
    await editor.node('Plan the trip').getByRole('button', { name: 'Answer', exact: true }).click()
    await expect(page.getByRole('dialog', { name: /^Question of/ }).getByRole('radio').first()).toBeVisible()
    await expectAccessible(page)
    await page.goto(`/runs/${run.runId}`)
    await page.getByRole('button', { name: 'Fork from here' }).first().click()
    await page.getByRole('dialog').getByRole('button', { name: /^Edit / }).first().click()
    await expectAccessible(page)
  }
  await api.post(`/runs/${runId}/cancel`)
})

for (const width of [390, 700, 900]) {
  test(`the editor, its sheet and its versions can be used by everybody, ${width} px wide`, async ({ page }) => {
    await page.setViewportSize({ width, height: 844 })
    for (const address of [`/workflows/${workflow.id}?run=${run.runId}&panel=visits`, `/workflows/${workflow.id}?panel=details`, `/workflows/${workflow.id}/versions`, `/workflows/${workflow.id}/versions/1/diff/2`]) {
      await page.goto(address)
      await expect(page.getByRole('heading', { level: 1 })).toBeAttached()
      await expect(page.locator('[aria-busy="true"]')).toHaveCount(0)
      await expectAccessible(page)
    }
  })
}

test.describe('signed out', () => {
  test.use({ storageState: { cookies: [], origins: [] } })
  test('the sign-in page can be used by everybody', async ({ page, guard }) => {
    guard.allow(/status of 401/)
    await page.goto('/sign-in')
    await expect(page.getByRole('alert')).toBeVisible()
    await expectAccessible(page)
  })
})

async function expectAccessible(page: Page) {
  // What fades in is looked at when it is there.
  await stillness(page)
  const { violations } = await new AxeBuilder({ page }).analyze()
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  expect(serious.map(({ id, nodes }) => ({ id, at: nodes.slice(0, 4).map(({ target, failureSummary }) => `${target.join(' ')} — ${failureSummary?.split('\n').slice(1, 3).join(' ')}`) }))).toEqual([])
}
