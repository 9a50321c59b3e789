/** A run asks a person: answered in the chain, in the inbox and on the canvas, by mouse and by keys, once. */
import type { Page } from '@playwright/test'
import type { Pause } from '../src/api/types.ts'
import { Editor } from './kit/editor.ts'
import { invoiceCheck, tripPlanner } from './kit/questions.ts'
import { RunView } from './kit/run.ts'
import { expect, test } from './kit/test.ts'

const WISH = 'There is one more requirement: thank her parents'

test('a new wish in an answer sends the run back to the node that asked, which fulfils it', async ({ page }) => {
  const run = new RunView(page)
  await page.goto('/workflows')
  await page.getByRole('button', { name: 'Run Free jump' }).click()
  await page.getByRole('dialog', { name: /^Run / }).getByRole('button', { name: 'Run' }).click()
  const card = run.visit(2).getByRole('form', { name: 'Question' })
  await expect(card).toContainText('Is anything missing?')
  await expect(card).toContainText('Nothing is held while it waits; you may close this page.')
  await card.getByRole('radio', { name: /Something else/ }).check()
  await card.getByRole('textbox', { name: 'In your own words' }).fill(WISH)
  await card.getByRole('button', { name: 'Answer' }).click()

  await expect(run.result).toContainText('we know whom to thank for that: your parents')
  await expect(run.visits).toHaveCount(4)
  await expect(run.visit(2)).toContainText(WISH)
  await expect(run.visit(2)).toContainText('The user has a new requirement:')
  await expect(run.decisionAfter(2)).toContainText('The host has a new requirement.')
  await expect(run.decisionAfter(2)).toContainText('off the drawing')
  await expect(run.badge(3)).toContainText('⬅ from Write the toast#1')
  await expect(run.badge(3)).toHaveAttribute('data-step', 'jump')
  await expect(run.visit(3)).toContainText('iter 2')
  // The second visit was told why it was sent.
  await page.getByRole('link', { name: 'Open the run' }).click()
  await run.visit(3).getByRole('button', { name: 'Show what was sent' }).click()
  await expect(run.visit(3).locator('.message').filter({ hasText: 'thank her parents' }).first()).toBeVisible()
})

test('three questions of an agent take a choice, several choices and words, and are read again from the record', async ({ page, api }) => {
  const { runId } = await api.asking(tripPlanner())
  await page.goto(`/runs/${runId}`)
  const run = new RunView(page)
  const card = run.questions
  await card.getByRole('button', { name: 'Answer' }).click()
  await expect(card.getByRole('alert')).toHaveText('Some fields do not fit yet.')
  await expect(card.getByText('This is needed.')).toHaveCount(3)
  await card.getByRole('radio', { name: 'By train' }).check()
  await card.getByRole('checkbox', { name: 'The harbour' }).check()
  await card.getByRole('checkbox', { name: 'The museum' }).check()
  await card.getByRole('textbox', { name: 'Anything else?' }).fill('We are four.')
  await card.getByRole('button', { name: 'Answer' }).click()
  await expect(run.result.getByRole('heading', { name: 'Plan' }).last()).toBeVisible()
  await page.reload()
  await expect(run.visit(2)).toContainText(/Answered by /)
  await expect(run.visit(2)).toContainText('The harbour · The museum')
  await expect(run.visit(2)).toContainText('We are four.')
  expect(await answersOf(api, runId)).toEqual(['By train', ['The harbour', 'The museum'], 'We are four.'])
})

test('a form has a control for each type, says what does not fit, and each action is a way on', async ({ page, api }) => {
  const { runId } = await api.asking(invoiceCheck())
  await page.goto('/inbox')
  await page.getByRole('link', { name: 'Invoice check' }).click()
  const card = new RunView(page).questions
  await expect(card.locator('strong', { hasText: '12000' }), 'the prompt is read as markdown').toBeVisible()
  await expect(card.getByLabel(/^Cost centre/)).toHaveValue('4711')
  await card.getByLabel(/^Cost centre/).selectOption('4712')
  await card.getByLabel('Note').fill('For the mole')
  await card.getByLabel(/^Share in percent/).fill('half')
  await card.getByLabel('Rate').fill('0.5')
  await card.getByLabel('Extra data').fill('{"a": ')
  await card.getByLabel('Pay today').check()
  await card.getByRole('button', { name: 'Send it back' }).click()
  await expect(card).toContainText('This is no whole number.')
  await expect(card).toContainText('This is no JSON.')
  await card.getByLabel(/^Share in percent/).fill('50')
  await card.getByLabel('Extra data').fill('{"a": [1, 2]}')
  await card.getByRole('button', { name: 'Send it back' }).click()
  await expect(card).toContainText('Your answer is in. The run goes on.')
  await expect(card).toContainText('Send it back')
  await api.ended(runId)
  await page.goto(`/runs/${runId}`)
  await expect(new RunView(page).result).toContainText('sent back: For the mole')
})

test('a press that closes a hint above the question still hits the choice that it was aimed at', async ({ page, api }) => {
  // All of it fits, so that no scrolling makes up for what goes above the question.
  await page.setViewportSize({ width: 1440, height: 1400 })
  const { runId } = await api.asking(tripPlanner('With a hint'))
  await page.goto(`/runs/${runId}`)
  const card = new RunView(page).questions
  const hint = page.getByRole('note').filter({ hasText: 'planner\'s reason' })
  await expect(hint).toBeInViewport({ ratio: 1 })
  await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)) }))
  await card.getByRole('radio', { name: 'By car' }).check()
  await expect(hint).toHaveCount(0)
  await expect(card.getByRole('radio', { name: 'By car' })).toBeChecked()
})

test('a question that a person has scrolled in stays where it is when it grows', async ({ page, api }) => {
  await page.setViewportSize({ width: 1440, height: 620 })
  const { runId } = await api.asking(tripPlanner('Tall'))
  await page.goto(`/runs/${runId}`)
  const card = new RunView(page).questions
  const choice = card.getByRole('checkbox', { name: /Something else/ })
  await expect(choice).toBeVisible()
  await page.getByRole('region', { name: 'Visits in order' }).hover()
  await page.mouse.wheel(0, 5000)
  await expect(card.getByRole('textbox', { name: 'Anything else?' })).toBeInViewport({ ratio: 1 })
  const before = await choice.boundingBox()
  await choice.check()
  await expect(card.getByRole('textbox', { name: 'In your own words' })).toBeVisible()
  await expect(card).toContainText('Draft kept on this device')
  expect((await choice.boundingBox())?.y).toBeCloseTo(before?.y ?? 0, 0)
})

test('an answer given in another tab is seen here, and what was typed stays', async ({ page, context, api }) => {
  const { runId } = await api.asking(tripPlanner('Two tabs'))
  const other = await context.newPage()
  const open = async (tab: Page) => { await tab.goto(`/runs/${runId}`); await expect(new RunView(tab).questions).toBeVisible(); return new RunView(tab).questions }
  const [first, second] = [await open(page), await open(other)]
  for (const [card, words] of [[first, 'Said first'], [second, 'Typed second']] as const) {
    await card.getByRole('radio', { name: 'By car' }).check()
    await card.getByRole('checkbox', { name: 'The dike' }).check()
    await card.getByRole('textbox', { name: 'Anything else?' }).fill(words)
  }
  await first.getByRole('button', { name: 'Answer' }).click()
  await expect(second).toContainText(/Already answered by .+\. Your text is kept below\./)
  await expect(second.getByRole('region', { name: 'The answer that counts' })).toContainText('Said first')
  await expect(second.getByRole('textbox', { name: 'Anything else?' })).toHaveValue('Typed second')
  await expect(second.getByRole('button', { name: 'Answer' })).toHaveCount(0)
  await expect(new RunView(page).result).toBeVisible()
})

test('two answers that cross are one: who comes second is shown the first', async ({ page, api, guard }) => {
  guard.allow(/status of 409/)
  const { pause } = await api.asking(tripPlanner('Crossing'))
  await page.goto(`/inbox/${pause.pauseId}`)
  const card = new RunView(page).questions
  await card.getByRole('radio', { name: 'By car' }).check()
  await card.getByRole('checkbox', { name: 'The dike' }).check()
  await card.getByRole('textbox', { name: 'Anything else?' }).fill('Second')
  // Nothing is heard of the first answer until the second is sent.
  await page.route(/\/api\/pauses(\?|$)/, () => undefined)
  await api.post(`/pauses/${pause.pauseId}/answer`, { answers: [{ questionId: 'q1', value: 'By train' }, { questionId: 'q2', value: ['The museum'] }, { questionId: 'q3', value: 'First' }] })
  await card.getByRole('button', { name: 'Answer' }).click()
  await expect(card).toContainText('Already answered by')
  await expect(card.getByRole('region', { name: 'The answer that counts' })).toContainText('First')
  await expect(card.getByRole('textbox', { name: 'Anything else?' })).toHaveValue('Second')
})

test('an answer that comes too late is refused in words, and stays', async ({ page, api, guard }) => {
  guard.allow(/status of 410/)
  const { runId, pause } = await api.asking(tripPlanner('Too late'))
  await page.goto(`/inbox/${pause.pauseId}`)
  const card = new RunView(page).questions
  await card.getByRole('radio', { name: 'By car' }).check()
  await card.getByRole('checkbox', { name: 'The dike' }).check()
  await card.getByRole('textbox', { name: 'Anything else?' }).fill('Too late for this')
  await page.route(/\/api\/pauses(\?|$)/, () => undefined)
  await api.post(`/runs/${runId}/cancel`)
  await card.getByRole('button', { name: 'Answer' }).click()
  await expect(card).toContainText('Nobody waits for an answer any more')
  await expect(card.getByRole('textbox', { name: 'Anything else?' })).toHaveValue('Too late for this')
})

test('a question says how long it waits and what comes then, and that its time was up', async ({ page, api }) => {
  const { runId } = await api.asking(invoiceCheck('Short wait', 4))
  await page.goto(`/runs/${runId}`)
  const run = new RunView(page)
  await expect(run.questions).toContainText(/\d+ s left, then the run goes on with the default answer/)
  await run.questions.getByLabel('Note').fill('On my way')
  await expect(run.questions).toContainText('Nobody waits for an answer any more')
  await expect(run.questions.getByLabel('Note')).toHaveValue('On my way')
  await expect(run.result).toContainText('booked on 4711, 100 %')
})

test('what was typed is there again after the page was loaded anew', async ({ page, api }) => {
  const { runId } = await api.asking(tripPlanner('Again'))
  await page.goto(`/runs/${runId}`)
  const card = new RunView(page).questions
  await card.getByRole('radio', { name: /Something else/ }).check()
  await card.getByRole('textbox', { name: 'In your own words' }).fill('By boat')
  await card.getByRole('checkbox', { name: 'The dike' }).check()
  await expect(card).toContainText('Draft kept on this device')
  await page.reload()
  await expect(card.getByRole('textbox', { name: 'In your own words' })).toHaveValue('By boat')
  await expect(card.getByRole('checkbox', { name: 'The dike' })).toBeChecked()
})

test('by keys alone, from the node on the canvas that waits', async ({ page, api }) => {
  const { workflow, runId } = await api.asking(tripPlanner('By keys'))
  const editor = await new Editor(page).open(workflow.id, `?run=${runId}&panel=result`)
  await editor.atRest()
  const waiting = editor.node('Plan the trip')
  await expect(waiting).toHaveAttribute('data-status', 'PAUSED')
  await waiting.focus()
  while (await page.evaluate(() => document.activeElement?.textContent.trim() !== 'Answer')) await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Question of Plan the trip' })
  await expect(dialog.getByRole('radio', { name: 'By train' })).toBeFocused()
  await page.keyboard.press('2')
  await expect(dialog.getByRole('radio', { name: 'By car' })).toBeChecked()
  await page.keyboard.press('Escape')
  await expect(dialog).toHaveCount(0)
  await expect(waiting.getByRole('button', { name: 'Answer' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(dialog.getByRole('radio', { name: 'By car' })).toBeChecked()
  await page.keyboard.press('Tab')
  await page.keyboard.press('1')
  await page.keyboard.press('3')
  await expect(dialog.getByRole('checkbox', { name: 'The dike' })).toBeChecked()
  await dialog.getByRole('textbox').focus()
  await page.keyboard.type('By keys, 1 and 2')
  await page.keyboard.press('Control+Enter')
  await expect(dialog).toHaveCount(0)
  await api.ended(runId)
  expect(await answersOf(api, runId)).toEqual(['By car', ['The harbour', 'The dike'], 'By keys, 1 and 2'])
})

test('an agent goes on without an answer, and a run can be cancelled from its question', async ({ page, api }) => {
  const skipped = await api.asking(tripPlanner('Skipped'))
  await page.goto(`/runs/${skipped.runId}`)
  const run = new RunView(page)
  await run.questions.getByRole('button', { name: 'Skip' }).click()
  await expect(run.questions).toContainText('Skipped. The run goes on without an answer.')
  await expect(run.result).toBeVisible()
  await page.reload()
  await expect(run.visit(2)).toContainText(/Skipped by /)
  const cancelled = await api.asking(tripPlanner('Cancelled'))
  await page.goto(`/runs/${cancelled.runId}`)
  await run.questions.getByRole('button', { name: 'Cancel the run' }).click()
  await run.questions.getByRole('button', { name: 'Really cancel the run' }).click()
  await expect(page.getByRole('banner')).toContainText('cancelled')
})

test.describe('in Chinese', () => {
  test.use({ locale: 'zh-CN' })
  test('a question is asked and answered', async ({ page, api }) => {
    const { workflow, runId } = await api.asking(tripPlanner('行程', 'zh-CN'))
    const editor = await new Editor(page).open(workflow.id, `?run=${runId}&panel=visits`)
    await editor.atRest()
    await editor.node('安排行程').getByRole('button', { name: '回答', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: '安排行程 的问题' })
    await expect(dialog).toContainText('等待不占用任何资源，可以关闭本页。')
    await dialog.getByRole('radio', { name: '坐火车' }).check()
    await dialog.getByRole('checkbox', { name: '港口' }).check()
    await dialog.getByRole('textbox', { name: '还有别的吗？' }).fill('还有一个需求：带上雨伞')
    await dialog.getByRole('button', { name: '回答' }).click()
    const run = new RunView(page)
    await expect(run.result).toContainText('港口和博物馆')
    await page.reload()
    await expect(run.visit(2)).toContainText(/由 .+ 回答/)
    await expect(run.visit(2)).toContainText('还有一个需求：带上雨伞')
  })
})

async function answersOf(api: { get: <T>(path: string) => Promise<T> }, runId: string): Promise<unknown[]> {
  const { items } = await api.get<{ items: Pause[] }>(`/runs/${runId}/pauses`)
  return (items[0]?.answers as { value: unknown }[]).map(({ value }) => value)
}
