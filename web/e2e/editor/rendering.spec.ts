/** What keeps a big drawing fast: a status that changes touches the one node whose status it is. */
import { node } from '../kit/documents.ts'
import { Editor } from '../kit/editor.ts'
import { expect, test } from '../kit/test.ts'

test('a status that changes renders one node of many', async ({ page, api }) => {
  const others = Array.from({ length: 40 }, (_, index) => node(`n${index}`, 'template', 260 * (index % 8), 160 + 140 * Math.floor(index / 8), { label: `N ${index}`, template: 'x' }))
  const { id } = await api.save({
    name: 'One of many', mode: 'AGENTIC', graphData: { nodes: [node('slow', 'llm', 0, 0, { label: 'Slow', userPrompt: 'x' }), ...others, node('out', 'output', 520, 0, { label: 'Out', outputType: 'text', template: 'x' })], edges: [] },
    script: [{ for: { node: 'slow' }, replies: [{ hang: true }] }],
  })
  const { runId } = await api.start(id)
  const editor = await new Editor(page).open(id, `?run=${runId}&panel=visits`)
  await expect(editor.node('Slow')).toHaveAttribute('data-status', 'RUNNING')
  await page.evaluate(() => {
    const touched = new Set<string>()
    Object.assign(window, { touched })
    new MutationObserver((changes) => {
      for (const { target } of changes) {
        const found = (target instanceof Element ? target : target.parentElement)?.closest<HTMLElement>('[data-node]')
        if (found?.dataset['node']) touched.add(found.dataset['node'])
      }
    }).observe(document.body, { subtree: true, attributes: true, childList: true, characterData: true })
  })
  await api.post(`/runs/${runId}/cancel`)
  await expect(editor.node('Slow')).toHaveAttribute('data-status', 'CANCELLED')
  expect(await page.evaluate(() => [...(window as unknown as { touched: Set<string> }).touched])).toEqual(['slow'])
})
