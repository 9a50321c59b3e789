/** Pictures of every page in both languages and themes and two widths, into `web/screenshots/`: to be looked at by a person. */
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from '@playwright/test'
import { answers, letter, planner } from './kit/documents.ts'
import { Editor } from './kit/editor.ts'
import { paperDesk } from './kit/paperDesk.ts'
import { stillness } from './kit/stillness.ts'
import { expect, test } from './kit/test.ts'

const FOLDER = fileURLToPath(new URL('../screenshots/', import.meta.url))
const WIDTHS = [1440, 900] as const

test.beforeAll(async () => { await rm(FOLDER, { recursive: true, force: true }) })

for (const locale of ['en', 'zh-CN'] as const) {
  test.describe(locale, () => {
    test.use({ locale })
    test(`every page, ${locale}`, async ({ page, flyback, guard }) => {
      guard.allow(/status of 40[14]/)
      const { api } = flyback
      const desk = await api.save(paperDesk(locale))
      const run = await api.ran(desk.id)
      const shorter = paperDesk(locale)
      shorter.script = (shorter.script ?? []).map(part => ('role' in part.for ? { ...part, replies: [...part.replies.slice(0, 4), ...part.replies.slice(10)] } : part))
      await api.put(`/workflows/${desk.id}`, { ...await api.workflow(desk.id), script: shorter.script })
      const other = await api.ran(desk.id)
      await api.post(`/workflows/${desk.id}/versions`, { note: locale === 'en' ? 'First edition' : '第一版' })
      const changed = await api.workflow(desk.id)
      changed.graphData.nodes = changed.graphData.nodes.map(node => (node.id === 'review' ? { ...node, data: { ...node.data, userPrompt: `${String(node.data['userPrompt'])} {{place}}` } } : node))
      await api.put(`/workflows/${desk.id}`, changed)
      await api.post(`/workflows/${desk.id}/versions`, { note: locale === 'en' ? 'Review knows the place' : '审阅知道地点' })
      const failing = { ...letter(locale === 'en' ? 'Letter desk' : '信件'), script: [answers('draft', 'Dear Ada'), planner(['draft', 'Write.'])] }
      await api.ran((await api.save({ ...failing, maxVisits: 3 })).id, { who: 'Ada' })
      const dag = await api.post<{ id: string }>('/samples/parallel/open')
      const dagRun = await api.ran(dag.id, { topic: 'Working from home' }).catch(() => undefined)

      const editor = new Editor(page)
      const views: [name: string, address: string, ready?: () => Promise<unknown>][] = [
        ['workflows', '/workflows', () => expect(page.getByRole('row').nth(1)).toBeVisible()],
        ['editor', `/workflows/${desk.id}`, () => expect(editor.nodes).toHaveCount(7)],
        ['editor-form', `/workflows/${desk.id}`, async () => { await editor.click(editor.byId('write')); await expect(page.locator('.cm-content').first()).toBeVisible() }],
        ['editor-run', `/workflows/${desk.id}?run=${run.runId}&panel=visits`, () => expect(page.getByRole('article')).toHaveCount(12)],
        ['editor-decisions', `/workflows/${desk.id}?run=${run.runId}&panel=decisions`],
        ['editor-run-dialog', `/workflows/${desk.id}?dialog=run`, () => expect(page.getByRole('dialog')).toBeVisible()],
        ['editor-palette', `/workflows/${desk.id}`, async () => { await expect(editor.nodes).toHaveCount(7); await page.keyboard.press('n') }],
        ['editor-outline', `/workflows/${desk.id}`, async () => { await expect(editor.nodes).toHaveCount(7); await page.keyboard.press('o') }],
        ['editor-dag-run', `/workflows/${dag.id}${dagRun ? `?run=${dagRun.runId}&panel=visits` : ''}`],
        ['versions', `/workflows/${desk.id}/versions`],
        ['version-difference', `/workflows/${desk.id}/versions/1/diff/2`],
        ['runs', '/runs', () => expect(page.getByRole('row').nth(1)).toBeVisible()],
        ['decisions-of-a-workflow', `/workflows/${desk.id}/runs?view=decisions`],
        ...['visits', 'decisions', 'route', 'result', 'inputs', 'usage', 'events'].map((tab): [string, string] => [`run-${tab}`, `/runs/${run.runId}?tab=${tab}&visit=6`]),
        ['comparison', `/runs/compare?a=${run.runId}&b=${other.runId}`],
        ['inbox', '/inbox'], ['models', '/models'], ['skills', '/skills'], ['settings', '/settings'], ['not-found', '/nowhere'],
        ['command-bar', '/workflows', async () => { await page.keyboard.press('Control+k'); await expect(page.getByRole('option').first()).toBeVisible() }],
        ['shortcuts', `/workflows/${desk.id}`, async () => { await expect(editor.nodes).toHaveCount(7); await page.keyboard.press('?') }],
      ]
      for (const [name, address, ready] of views) {
        await page.setViewportSize({ width: WIDTHS[0], height: 900 })
        await page.emulateMedia({ colorScheme: 'light' })
        await page.goto(address)
        await expect(page.getByRole('heading', { level: 1 })).toBeAttached()
        await ready?.()
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 900 })
          for (const theme of ['light', 'dark'] as const) {
            await page.emulateMedia({ colorScheme: theme })
            await atRest(page)
            await page.screenshot({ path: `${FOLDER}${name}.${locale}.${theme}.${width}.png`, animations: 'disabled' })
          }
        }
      }
    })
  })
}

async function atRest(page: Page) {
  await expect(page.locator('[aria-busy="true"]')).toHaveCount(0)
  await stillness(page)
  // Two frames: what is drawn after a change of size is there.
  await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)) }))
}
