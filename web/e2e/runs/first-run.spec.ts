/** The first two clicks of a new person: a sample, and Run. Everything that sets this product apart is seen then. */
import { Editor } from '../kit/editor.ts'
import { RunView } from '../kit/run.ts'
import { expect, test } from '../kit/test.ts'

test('a sample runs in two clicks, and its fly-back is seen, explained and told apart', async ({ page }) => {
  const editor = new Editor(page)
  const run = new RunView(page)
  await page.goto('/workflows')
  await page.getByRole('button', { name: 'Run Loop back' }).click()
  const dialog = page.getByRole('dialog', { name: /^Run / })
  await expect(dialog.getByLabel('Task')).toHaveValue('Invite the team to the summer party.')
  await watchStatuses(page)
  await dialog.getByRole('button', { name: 'Run' }).click()

  // The result stands on top, above every visit.
  await expect(run.result).toContainText('Come to our summer party on Friday at six, all of you!')
  await expect(run.result.getByRole('button', { name: 'Copy' })).toBeVisible()
  expect((await run.result.boundingBox())?.y).toBeLessThan((await run.visit(1).boundingBox())?.y ?? 0)
  await expect(run.visits).toHaveCount(7)
  expect(await seenStatuses(page)).toEqual(expect.arrayContaining(['draft RUNNING', 'draft SUCCESS', 'answer SUCCESS']))

  // Each visit says before its title where it came from, and in which way.
  await expect(run.badge(1)).toHaveText('start')
  await expect(run.badge(2)).toContainText('⬅ from Task#1')
  await expect(run.badge(2)).toHaveAttribute('data-step', 'drawn')
  await expect(run.badge(5)).toContainText('⬅ from Name the fault#1')
  await expect(run.badge(5)).toHaveAttribute('data-step', 'jump')
  await expect(run.badge(6)).toContainText('⬅ from Write the invitation#2')
  await expect(run.badge(6)).toHaveAttribute('data-step', 'revisit')
  expect(await run.badge(5).evaluate(badge => Boolean((badge.closest('article')?.querySelector('h3')?.compareDocumentPosition(badge) ?? 0) & Node.DOCUMENT_POSITION_PRECEDING)), 'the badge stands before the title').toBe(true)
  const fill = (n: number) => run.badge(n).evaluate(badge => getComputedStyle(badge).backgroundColor)
  expect(await fill(5), 'filled where no edge was drawn, outlined where one led to a revisit').not.toBe(await fill(6))
  await expect(run.visit(2)).toContainText('iter 1')
  await expect(run.visit(5)).toContainText('iter 2')

  // Why, between the visits.
  await expect(run.decisionAfter(4)).toContainText('Planner → Write the invitation')
  await expect(run.decisionAfter(4)).toContainText('off the drawing')
  await expect(run.decisionAfter(4)).toContainText('The day is missing. No edge leads there, but the draft must be written again.')

  // The one step that left the drawing is a dashed arc over it.
  await expect(run.arcs).toHaveCount(1)
  expect(await run.arcs.evaluate(arc => getComputedStyle(arc).strokeDasharray)).not.toBe('none')
  await expect(editor.canvas.getByRole('button', { name: /The day is missing/ })).toHaveText('5')
  await expect(editor.node('Write the invitation').getByRole('button', { name: 'Visit 5, jumped to' })).toBeVisible()
  await expect(run.stops).toHaveCount(7)
  await expect(run.stops.nth(4)).toHaveAccessibleName('Stop 5, Write the invitation, jumped from Name the fault, not drawn')

  // What the visit changed, and everything that was sent for it.
  await run.visit(5).getByRole('button', { name: 'Changes' }).click()
  const changes = run.visit(5).getByRole('table', { name: 'What this visit changed' })
  await expect(changes).toContainText('Come to our summer party, all of you!')
  await expect(changes).toContainText('Friday')
  await run.visit(5).getByRole('button', { name: 'Show what was sent' }).click()
  await expect(run.visit(5)).toContainText('Sent as user')
  await run.decisionAfter(4).getByRole('button', { name: 'Show what was sent' }).click()
  await expect(run.decisionAfter(4)).toContainText('Sent as user')
  await run.visit(5).getByRole('button', { name: 'Workspace', exact: true }).click()
  await expect(run.visit(5).getByRole('region', { name: 'Workspace' })).toContainText('draft__text')

  // A visit and its place on the canvas lead to each other.
  await run.title(3).click()
  await expect(run.stops.nth(2)).toHaveAttribute('aria-current', 'step')
  await expect(page).toHaveURL(/visit=3/)
  await run.stops.nth(1).click()
  await expect(run.visit(2)).toHaveAttribute('aria-current', 'true')
})

/** Notes every status that a node of the canvas had, however shortly. */
async function watchStatuses(page: import('@playwright/test').Page) {
  await page.evaluate(() => {
    const seen = new Set<string>()
    Object.assign(window, { seenStatuses: seen })
    new MutationObserver((changes) => {
      for (const { target } of changes) {
        const node = target as HTMLElement
        if (node.dataset['node']) seen.add(`${node.dataset['node']} ${node.dataset['status']}`)
      }
    }).observe(document.body, { subtree: true, attributes: true, attributeFilter: ['data-status'] })
  })
}
const seenStatuses = (page: import('@playwright/test').Page) => page.evaluate(() => [...(window as unknown as { seenStatuses: Set<string> }).seenStatuses])
