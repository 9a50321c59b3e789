/** MCP servers: the operator's, those that are added here, and their tools. */
import { edges, node, type Document } from './kit/documents.ts'
import { expect, test } from './kit/test.ts'

test.use({ served: 'with tools' })

const calls = (tool: string, args: unknown): Document => ({
  name: `Calls ${tool}`, mode: 'DAG', graphData: {
    nodes: [node('in', 'userInput', 0, 0, { variables: [] }), node('call', 'tool', 280, 0, { server: 'desk', tool, arguments: args }), node('out', 'output', 560, 0, { outputType: 'text' })],
    edges: edges('in -> call', 'call -> out'),
  },
})

test('a server is added with a token that is never seen again, changed and deleted', async ({ page, api }) => {
  await page.goto('/settings')
  await page.getByRole('link', { name: 'Manage', exact: true }).click()
  await page.getByRole('banner').getByRole('button', { name: 'Add a server' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add a server' })
  await dialog.getByLabel(/^Name/).fill('tides')
  await dialog.getByLabel(/^Address/).fill('https://tides.example/mcp')
  await dialog.getByLabel(/^Bearer token/).fill('a-secret-token')
  await dialog.getByRole('button', { name: 'Add a header' }).click()
  await dialog.getByLabel('Header', { exact: true }).fill('X-Team')
  await dialog.getByLabel('Value of X-Team').fill('a-secret-team')
  await dialog.getByRole('button', { name: 'Save' }).click()
  const card = page.getByRole('article', { name: 'tides' })
  await expect(card).toContainText('token set')
  await expect(card).toContainText('X-Team')
  expect(await page.content()).not.toContain('a-secret')
  await card.getByRole('button', { name: 'Edit tides' }).click()
  const edit = page.getByRole('dialog', { name: 'Edit tides' })
  await expect(edit.getByLabel(/^Bearer token/)).toHaveValue('')
  await edit.getByLabel('Remove the stored token').check()
  await edit.getByRole('button', { name: 'Save' }).click()
  await expect(card).not.toContainText('token set')
  await card.getByRole('button', { name: 'Delete tides' }).click()
  await page.getByRole('dialog', { name: 'Delete tides?' }).getByRole('button', { name: 'Delete' }).click()
  await expect(card).toHaveCount(0)
  expect((await api.get<{ items: { name: string }[] }>('/mcp-servers')).items.map(({ name }) => name)).not.toContain('tides')
})

test('the tools of a server are shown in its own words, and may ask first', async ({ page, api }) => {
  await page.goto('/mcp-servers')
  const card = page.getByRole('article', { name: 'desk' })
  await expect(card).toContainText('operator’s file')
  await expect(card.getByRole('button', { name: 'Delete desk' })).toHaveCount(0)
  await card.getByRole('button', { name: 'Test and show tools' }).click()
  const tools = card.getByRole('list', { name: 'Tools' })
  const echo = tools.getByRole('listitem').filter({ has: page.getByRole('button', { name: 'echo', exact: true }) })
  await expect(echo).toContainText('Says it again.')
  await echo.getByRole('checkbox').check()
  await expect(card).toContainText('1 tool asks first')
  await page.reload()
  await expect(card).toContainText('1 tool asks first')
  expect((await api.played(calls('add', { a: 2, b: 3 }))).run.status).toBe('SUCCESS')
})
