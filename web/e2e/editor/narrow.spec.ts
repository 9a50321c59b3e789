/** The editor where there is little room: nothing covers anything, and a finger is enough. */
import type { Locator, Page } from '@playwright/test'
import { bigDrawing } from '../kit/bigDrawing.ts'
import { letter } from '../kit/documents.ts'
import { Editor } from '../kit/editor.ts'
import { Fingers } from '../kit/fingers.ts'
import { expect, test } from '../kit/test.ts'

async function boxOf(what: Locator) {
  const box = await what.boundingBox()
  if (!box) throw new Error(`not on the page: ${what.toString()}`)
  return box
}
async function expectApart(one: Locator, other: Locator) {
  const [a, b] = [await boxOf(one), await boxOf(other)]
  const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y
  expect(apart, `${one.toString()} lies on ${other.toString()}`).toBe(true)
}
const runBar = (page: Page) => page.getByRole('region', { name: 'The run' })

for (const width of [900, 1100]) {
  test(`beside a run, ${width} px wide, the panel covers nothing`, async ({ page, api }) => {
    await page.setViewportSize({ width, height: 900 })
    const { workflow, run } = await api.played(letter('Narrow'), { who: 'Ada' })
    const editor = await new Editor(page).open(workflow.id, `?run=${run.runId}&panel=visits`)
    await expectApart(editor.panel, runBar(page))
    await expectApart(editor.panel, page.getByRole('button', { name: 'AGENTIC MODE' }))
    await expectApart(editor.tool('Add a node'), page.getByRole('button', { name: 'AGENTIC MODE' }))
  })
}

test('on a phone a run is read, its sheet is drawn up and down, and the rest is behind one button', async ({ page, api }) => {
  await page.setViewportSize({ width: 390, height: 844 })
  const { workflow, run } = await api.played(letter('On a phone'), { who: 'Ada' })
  await page.goto(`/workflows/${workflow.id}?run=${run.runId}&panel=visits`)
  const panel = page.getByRole('complementary', { name: 'Panel' })
  await expect(panel.getByRole('button', { name: /^Stop 7/ })).toBeVisible()
  await expect(page.getByRole('article')).toHaveCount(7)
  await page.getByRole('button', { name: 'Panel: half. Show all' }).click()
  await expect.poll(async () => (await boxOf(panel)).height).toBeGreaterThan(600)
  await page.getByRole('button', { name: 'Panel: whole. Show less' }).click()
  await expect(page.getByRole('article').first()).toBeHidden()
  await expect(panel.getByRole('button', { name: /^Stop 7/ })).toBeVisible()
  await page.getByRole('tab', { name: 'Result' }).click()
  await expect(panel).toContainText('Dear Ada, come on Friday at six.')
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Versions' }).click()
  await expect(page).toHaveURL(/\/versions$/)
  await expect(page.locator('html')).toHaveJSProperty('scrollWidth', 390)
})

test.describe('with fingers', () => {
  test.use({ hasTouch: true, viewport: { width: 390, height: 844 } })
  test('the canvas is moved and zoomed, a node is chosen, moved after that, and led to another', async ({ page, api }) => {
    const { id } = await api.save(letter('By touch'))
    const editor = new Editor(page)
    await page.goto(`/workflows/${id}`)
    await page.getByRole('button', { name: 'Back to the canvas' }).tap()
    await expect(editor.nodes).toHaveCount(4)
    await editor.atRest()
    const fingers = await Fingers.on(page)
    const places = async () => (await api.workflow(id)).graphData.nodes.map(node => node.position)
    const before = await places()

    const first = await boxOf(editor.node('Draft'))
    await fingers.drag([first.x + 10, first.y + 8], [first.x + 10, first.y + 108])
    await expect.poll(async () => Math.round((await boxOf(editor.node('Draft'))).y - first.y), 'a finger on a node that is not chosen moves the view').toBeGreaterThan(60)
    const narrow = (await boxOf(editor.node('Draft'))).width
    await fingers.pinch([first.x + 30, first.y + 200], 40, 120)
    await expect.poll(async () => (await boxOf(editor.node('Draft'))).width).toBeGreaterThan(2 * narrow)
    expect(await places()).toEqual(before)

    const read = await boxOf(editor.node('Draft'))
    await page.touchscreen.tap(read.x + 40, read.y + 14)
    await expect(page.getByRole('region', { name: 'Form of Draft' })).toBeVisible()
    await page.getByRole('button', { name: 'Close the form' }).tap()
    await expect(page.getByRole('region', { name: 'Form of Draft' })).toHaveCount(0)
    await editor.atRest()
    const chosen = await boxOf(editor.node('Draft'))
    await fingers.drag([chosen.x + 40, chosen.y + 14], [chosen.x + 40, chosen.y + 94])
    await expect.poll(places).not.toEqual(before)

    const handle = editor.node('Draft').locator('[data-handleid="output"]')
    // However far the pinch went: with the handle near the right border both nodes are in view.
    await fingers.drag([200, 600], [200 + 360 - (await boxOf(handle)).x, 600])
    await editor.atRest()
    const from = await boxOf(handle)
    const to = await boxOf(editor.node('Ask'))
    await fingers.drag([from.x + from.width / 2, from.y + from.height / 2], [to.x + to.width - 12, to.y + 20])
    await expect.poll(async () => (await api.workflow(id)).graphData.edges.map(edge => `${edge.source} -> ${edge.target}`)).toContain('draft -> ask')
  })
})

test.describe('with fingers, on a drawing of 500 nodes', () => {
  test.use({ hasTouch: true, viewport: { width: 1180, height: 820 } })
  test('a chosen node is led to another by its handles, which a finger hits beside them too', async ({ page, api }) => {
    const { id } = await api.save({ name: 'Big, by touch', mode: 'DAG', graphData: bigDrawing() })
    const editor = await new Editor(page).open(id)
    await expect(editor.nodes).toHaveCount(500)
    await page.getByRole('button', { name: /^Zoom \d+ %/ }).tap()
    await editor.atRest()
    const [from, to] = [editor.byId('n-12-9'), editor.byId('n-13-8')]
    const fingers = await Fingers.on(page)
    const head = await boxOf(from)
    await page.touchscreen.tap(head.x + 60, head.y + 20)
    await page.getByRole('button', { name: 'Close the form' }).tap()
    await expect(editor.form).toHaveCount(0)
    await editor.atRest()
    const [out, into] = [await boxOf(from.locator('[data-handleid="output"]')), await boxOf(to.locator('.handle.in'))]
    await fingers.drag([out.x + out.width / 2 + 12, out.y + out.height / 2], [into.x + into.width / 2 - 12, into.y + into.height / 2])
    await expect.poll(async () => (await api.workflow(id)).graphData.edges.map(edge => `${edge.source} -> ${edge.target}`)).toContain('n-12-9 -> n-13-8')
  })
})
