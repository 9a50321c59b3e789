/** Chinese from the first step to the last: the words of a run stand as they are known. */
import { edges, letter, node, type Document } from './kit/documents.ts'
import { Editor } from './kit/editor.ts'
import { RunView } from './kit/run.ts'
import { expect, test } from './kit/test.ts'

test.use({ locale: 'zh-CN' })

const chain: Document = {
  name: '三步', mode: 'AGENTIC', graphData: {
    nodes: [
      node('a', 'userInput', 0, 0, { label: 'A', variables: [{ name: 'q', label: '问题', type: 'string', default: '天气' }] }),
      node('b', 'llm', 280, 0, { label: 'B', userPrompt: '{{q}}' }),
      node('c', 'template', 560, 0, { label: 'C', template: '{{b.text}}' }),
      node('out', 'output', 840, 0, { label: '结果', outputType: 'text', template: '{{b.text}}' }),
    ],
    edges: edges('a -> b', 'b -> c', 'c -> out'),
  },
  script: [
    { for: { node: 'b' }, replies: [{ text: '明天晴。' }, { text: '明天晴，22 度。' }] },
    { for: { role: 'planner' }, replies: [{ next: 'b', reason: '先看问题。' }, { next: 'c', reason: '整理一下。' }, { next: 'b', reason: '缺少温度。' }, { next: 'out', reason: '已经完整。' }] },
  ],
}

test('a run tells its story in Chinese', async ({ page, api }) => {
  const { workflow, run: done } = await api.played(chain, { q: '天气' })
  const editor = await new Editor(page).open(workflow.id, `?run=${done.runId}&panel=visits`)
  const run = new RunView(page)
  await expect(page.locator('html')).toHaveAttribute('lang', 'zh-CN')
  await expect(run.result).toContainText('明天晴，22 度。')
  await expect(run.result.getByRole('heading')).toHaveText('最终输出')
  await expect(run.badge(1)).toHaveText('起点')
  await expect(run.badge(4)).toContainText('⬅ 来自 C#1')
  await expect(run.visit(4)).toContainText('iter 2')
  await expect(run.visit(4).getByRole('button', { name: '工作区' })).toBeVisible()
  await expect(run.visit(4).getByRole('button', { name: '输出', exact: true })).toBeVisible()
  await expect(run.decisionAfter(1)).toContainText(/Planner 决策：转 B，因为.*先看问题。/)
  await expect(page.getByRole('button', { name: /AGENTIC MODE（智能体模式）/ })).toBeVisible()
  await expect(editor.canvas).toBeVisible()
})

test('the run mode has its Chinese names, and explains itself once', async ({ page, api }) => {
  const { id } = await api.save({ ...letter('模式'), mode: 'DAG' })
  await page.goto(`/workflows/${id}`)
  await page.getByRole('banner').getByRole('button', { name: /信息|详情|设置/ }).first().click()
  const modes = page.getByRole('group', { name: '运行模式' })
  await expect(modes.getByText('DAG（按画布连线严格执行）')).toBeVisible()
  await modes.getByRole('radio', { name: /智能体（AI 自主决定跳转）/ }).check()
  await expect(page.getByText('智能体模式说明：此模式下，画布作为能力地图，AI 可访问任意节点。同节点可能被多次访问，运行结果会按访问顺序展开。')).toBeVisible()
  await page.getByRole('button', { name: '我知道了' }).click()
  await expect(page.getByRole('button', { name: '我知道了' })).toHaveCount(0)
})

test('no page of the navigation shows a word in the other language', async ({ page }) => {
  // Names of the product, of protocols and of modes are the same everywhere.
  const known = /^(Flyback|AGENTIC.*|DAG|MCP|API|JSON|SKILL\.md|scripted|embedded|English|Planner|iter \d+|v?\d[\d.]*|Ctrl|openapi\.json|[\w-]+…|https?:.*|[\d\s%.·→:#⌘↵/-]*)$/
  for (const path of ['/workflows', '/runs', '/inbox', '/models', '/skills', '/settings']) {
    await page.goto(path)
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
    await expect(page.locator('[aria-busy="true"]')).toHaveCount(0)
    const words = await page.getByRole('banner').or(page.getByRole('navigation')).locator(':is(button, a, h1, h2, label)').allInnerTexts()
    const foreign = words.flatMap(text => text.split('\n')).map(text => text.trim()).filter(text => /[A-Za-z]{3}/.test(text) && !/\p{Script=Han}/u.test(text) && !known.test(text))
    expect(foreign, path).toEqual([])
  }
})

test('what the server says is Chinese too: a problem of the drawing, a refused file, a run that failed', async ({ page, api, guard }) => {
  guard.allow(/status of 4\d\d/)
  const drawing: Document = { ...chain, name: '有问题', graphData: { ...chain.graphData, edges: edges('a -> b', 'c -> out') } }
  drawing.graphData.nodes = drawing.graphData.nodes.map(one => (one.id === 'c' ? node('c', 'template', 560, 0, { label: 'C', template: '{{nobody}}' }) : one))
  const { id } = await api.save({ ...drawing, mode: 'DAG' })
  const editor = await new Editor(page).open(id, '?panel=problems')
  const problems = editor.panel.getByRole('listitem')
  await expect(problems.filter({ hasText: '从起点没有路通向节点 \'c\'，它会被跳过。' })).toHaveCount(1)
  await expect(problems.filter({ hasText: '节点 \'c\' 引用了 \'nobody\'，但没有节点写入它。' })).toContainText('检查拼写，或将它声明为输入。')
  expect((await problems.allInnerTexts()).filter(text => /[a-z]{3,} [a-z]{3,}/.test(text))).toEqual([])

  await page.goto('/workflows')
  await page.getByRole('button', { name: '导入' }).first().click()
  await page.locator('input[type=file]').setInputFiles({ name: 'holiday.json', mimeType: 'application/json', buffer: Buffer.from('{"plans": []}') })
  const dialog = page.getByRole('dialog')
  await expect(dialog).toContainText('“holiday.json”未能导入。')
  await expect(dialog).toContainText('这不是 Flyback 工作流文件。')

  const { run } = await api.played({ ...chain, name: '没有回答', mode: 'DAG', script: [] }, { q: '天气' })
  await page.goto(`/runs/${run.runId}?tab=result`)
  await expect(page.getByText('模型 \'scripted\'：没有为节点 \'b\' 预设任何回答；这是第 1 次调用。').first()).toBeVisible()
})
