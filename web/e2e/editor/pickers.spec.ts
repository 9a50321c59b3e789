/** Skills, servers and tools are chosen in a node's form by what they say of themselves; what is missing is said with its remedy. */
import { node, type Document } from '../kit/documents.ts'
import { Editor } from '../kit/editor.ts'
import { expect, test } from '../kit/test.ts'

test.use({ served: 'with tools' })

const one = (name: string, type: string, data: Record<string, unknown>): Document => ({ name, mode: 'DAG', graphData: { nodes: [node('n', type, 0, 0, { label: 'It', ...data })], edges: [] } })
const SKILL = `---
name: tide-check
description: Says when the tide is high.
metadata:
  io-inputs: |
    - name: harbour
      description: Which harbour.
      required: true
  io-outputs: |
    verdict: high or low
---

Say when.
`

test('a skill is searched for, and says what it does, takes and gives; one that is missing is said to be', async ({ page, api }) => {
  const { id: skill, source } = await api.post<{ id: string, source: string }>('/skills', { source: SKILL })
  await api.put(`/skills/${skill}`, { source: source.replace('Say when.', 'Say when, twice.') })
  const { id } = await api.save(one('Picks a skill', 'agent', { agentId: 'gone-long-ago', task: 'Do it' }))
  const editor = await new Editor(page).open(id)
  await editor.click(editor.node('It'))
  const field = editor.form.locator('[data-field="agentId"]')
  await expect(field).toContainText('There is no skill “gone-long-ago” here. Upload it, or choose another')
  await expect(field.getByRole('link', { name: 'To the skills' })).toBeVisible()
  await field.getByRole('combobox', { name: /^Skill/ }).click()
  await page.keyboard.type('tide high')
  await expect(page.getByRole('listbox', { name: 'Choose a skill' }).getByRole('option')).toHaveCount(1)
  await page.keyboard.press('Enter')
  await expect(field).toContainText('Says when the tide is high.')
  await expect(field).toContainText('Version 2')
  await expect(field).toContainText('harbour')
  await expect(field).toContainText('required')
  await expect(field).toContainText('verdict')
  await expect(field).not.toContainText('There is no skill')
  await editor.saved()
  expect((await api.workflow(id)).graphData.nodes[0]?.data['agentId']).toBe(skill)
})

test('a tool is chosen among those that its server names, which is asked only then', async ({ page, api }) => {
  const { id } = await api.save(one('Picks a tool', 'tool', { server: 'nowhere', tool: 'add' }))
  const asked: string[] = []
  page.on('request', request => { if (/mcp-servers\/[^/]+\/tools/.test(request.url())) asked.push(request.url()) })
  const editor = await new Editor(page).open(id)
  await editor.click(editor.node('It'))
  const [server, tool] = [editor.form.locator('[data-field="server"]'), editor.form.locator('[data-field="tool"]')]
  await expect(server).toContainText('There is no MCP server “nowhere” here.')
  await server.getByRole('button', { name: 'Choose a server' }).click()
  await page.getByRole('option', { name: /desk/ }).click()
  await expect(server).not.toContainText('There is no MCP server')
  expect(asked).toEqual([])
  await tool.getByRole('button', { name: 'Choose a tool' }).click()
  await page.keyboard.type('two numbers')
  await page.getByRole('option', { name: /^add/ }).click({ timeout: 40_000 })
  await expect(tool).toContainText('Adds two numbers.')
  await expect(tool.getByRole('list', { name: 'What it takes' })).toContainText('a integer · required')
  await tool.getByRole('textbox', { name: /^Tool/ }).fill('subtract')
  await expect(tool).toContainText('The server “desk” has no tool “subtract”.')
  await tool.getByRole('textbox', { name: /^Tool/ }).fill('echo')
  await editor.saved()
  expect((await api.workflow(id)).graphData.nodes[0]?.data).toMatchObject({ server: 'desk', tool: 'echo' })
})

test('an agent is given tools, servers and skills from lists', async ({ page, api }) => {
  const { id } = await api.save(one('Picks several', 'smartAction', { instruction: 'Do it', skills: ['gone'] }))
  const editor = await new Editor(page).open(id)
  await editor.click(editor.node('It'))
  await editor.form.getByText('More settings').click()
  const skills = editor.form.locator('[data-field="skills"]')
  await expect(skills).toContainText('There is no skill “gone” here.')
  const servers = editor.form.locator('[data-field="mcpServers"]')
  await servers.getByRole('button', { name: 'Add a server' }).click()
  await page.getByRole('option', { name: /desk/ }).click()
  const tools = editor.form.locator('[data-field="tools"]')
  await tools.getByRole('button', { name: 'Add a tool' }).click()
  await page.getByRole('option', { name: /desk__echo/ }).click({ timeout: 40_000 })
  await expect(tools.getByRole('textbox', { name: 'Tools' })).toHaveValue('desk__echo')
  await editor.saved()
  expect((await api.workflow(id)).graphData.nodes[0]?.data).toMatchObject({ skills: ['gone'], mcpServers: ['desk'], tools: ['desk__echo'] })
})
