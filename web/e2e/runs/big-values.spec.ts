/** Values of megabytes: they are read beside the page, drawn in windows, and the page goes on answering. */
import { edges, node } from '../kit/documents.ts'
import { expect, test } from '../kit/test.ts'

const list = Array.from({ length: 20_000 }, (_, n) => ({ n, title: `Paper ${n}`, words: 'tide '.repeat(8) }))

test('a structure of two megabytes is opened, scrolled and read', async ({ page, api }) => {
  const { run } = await api.played({
    name: 'Big', mode: 'DAG', graphData: {
      nodes: [
        node('in', 'userInput', 0, 0, { variables: [{ name: 'papers', type: 'json', required: true }] }),
        node('out', 'output', 280, 0, { outputType: 'text', template: 'read' }),
      ],
      edges: edges('in -> out'),
    },
  }, { papers: list })
  await page.goto(`/runs/${run.runId}?tab=inputs`)
  const show = page.getByRole('button', { name: 'Show here' })
  await show.or(page.getByRole('region', { name: /^Value as a tree/ })).first().waitFor()
  if (await show.isVisible()) await show.click()
  const tree = page.getByRole('region', { name: 'Value as a tree, 20000 rows' })
  await expect(tree.getByRole('listitem').first()).toBeVisible()
  expect(await tree.getByRole('listitem').count()).toBeLessThan(60)
  await tree.getByRole('button', { name: /^0\W/ }).click()
  await expect(page.getByRole('region', { name: 'Value as a tree, 20003 rows' }).getByText('"Paper 0"')).toBeVisible()
  await tree.or(page.getByRole('region', { name: /^Value as a tree/ })).evaluate((region) => { region.scrollTop = region.scrollHeight })
  await expect(page.getByRole('button', { name: /^19999\W/ })).toBeVisible()
  await page.getByRole('radiogroup', { name: 'Show as' }).getByText('Text').click()
  await expect(page.getByRole('button', { name: /^Show more, / })).toBeVisible()
})
