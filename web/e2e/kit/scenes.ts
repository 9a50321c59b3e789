/**
 * What is to be seen of the product: every page and its states, over a server that has been worked with.
 *
 * `pictures.ts` takes a picture of each, `accessibility.spec.ts` lets axe look at each. A scene works in both languages.
 */
import type { Page } from '@playwright/test'
import type { Pause, Run, Workflow } from '../../src/api/types.ts'
import { answers, edges, letter, node, planner, type Document } from './documents.ts'
import { Editor } from './editor.ts'
import { paperDesk } from './paperDesk.ts'
import { invoiceCheck, tripPlanner } from './questions.ts'
import type { FlybackServer } from './server.ts'
import { expect } from './test.ts'

export type Language = 'en' | 'zh-CN'
interface Asking { workflow: Workflow, runId: string, pause: Pause }
/** What the scenes look at. */
export interface Made {
  desk: Workflow
  /** Two runs of the desk: the second took a shorter way. */
  run: Run
  other: Run
  failed: Run
  dag: Run
  /** A run whose second visit works and says so for as long as anybody looks. */
  live: { workflowId: string, runId: string }
  each: Run
  inner: string
  trip: Asking
  invoice: Asking
  approval: Asking
  broken: Workflow
  skill: string
}

export interface Scene {
  name: string
  address: (made: Made) => string
  /** Brings the page to what is to be seen, and waits until it is there. */
  ready?: (page: Page) => Promise<unknown>
  /** Is looked at on a phone too. */
  phone?: boolean
}

const SKILL = (words: string) => `---\nname: tide-note\ndescription: Writes a note on tides.\n---\n\n# Tide note\n\n1. Read the table of the harbour office.\n2. ${words}\n3. Name the source.\n`

/** Works with a server that has the tools of `desk`: workflows, runs, questions, people, keys, a skill that was changed. */
export async function make({ api, changeTools }: FlybackServer, language: Language): Promise<Made> {
  const t = (en: string, zh: string) => (language === 'en' ? en : zh)
  const desk = await api.save(paperDesk(language))
  const run = await api.ran(desk.id)
  const script = (paperDesk(language).script ?? []).map(part => ('role' in part.for ? { ...part, replies: [...part.replies.slice(0, 4), ...part.replies.slice(10)] } : part))
  await api.put(`/workflows/${desk.id}`, { ...await api.workflow(desk.id), script })
  const other = await api.ran(desk.id)
  await api.post(`/workflows/${desk.id}/versions`, { note: t('First edition', '第一版') })
  const changed = await api.workflow(desk.id)
  changed.graphData.nodes = changed.graphData.nodes.map(one => (one.id === 'review' ? { ...one, data: { ...one.data, userPrompt: `${String(one.data['userPrompt'])} {{place}}` } } : one))
  await api.put(`/workflows/${desk.id}`, changed)
  await api.post(`/workflows/${desk.id}/versions`, { note: t('Review knows the place', '审阅知道地点') })
  const { run: failed } = await api.played({ ...letter(t('Letter desk', '信件')), maxVisits: 3, script: [answers('draft', 'Dear Ada'), planner(['draft', t('Write.', '开始写。')])] }, { who: 'Ada' })
  const dag = await api.ran((await api.post<{ id: string }>('/samples/parallel/open')).id, { topic: t('Working from home', '居家办公') })
  const slow = letter(t('Long letter', '长信'))
  const writing = t('Dear Ada, come on Friday at six. Bring your boots: the way to the mole is wet, and', '亲爱的艾达，周五六点来。记得带靴子：去外堤的路很湿，而且').match(/.{1,6}/g) ?? []
  slow.script = [{ for: { node: 'draft' }, replies: [{ stream: Array.from({ length: 100 }, () => writing).flat(), everyMs: 400 }] }, planner(['draft', t('The name is known: write.', '名字已知：开始写。')])]
  const { id: workflowId } = await api.save(slow)
  const live = { workflowId, ...await api.start(workflowId, { who: 'Ada' }) }

  const { id: one } = await api.save({
    name: t('One harbour', '单个港口'), mode: 'DAG', graphData: {
      nodes: [node('in', 'userInput', 0, 0, { label: t('Harbour', '港口'), variables: [{ name: 'item', label: t('Which?', '哪个？'), type: 'string' }] }), node('say', 'template', 280, 0, { label: t('Say', '说明'), template: t('The tide in {{item}}', '{{item}} 的潮汐') }), node('out', 'output', 560, 0, { label: t('Said', '结果'), outputType: 'text' })],
      edges: edges('in -> say', 'say -> out'),
    },
  })
  const harbours = ['Husum', 'Dagebüll', 'Büsum', 'Tönning']
  const { run: each } = await api.played({
    name: t('All harbours', '所有港口'), mode: 'AGENTIC', graphData: {
      nodes: [
        node('in', 'userInput', 0, 0, { label: t('Harbours', '港口列表'), description: t('Which ones', '哪些港口'), variables: [{ name: 'list', label: t('Which?', '哪些？'), type: 'json', default: harbours }] }),
        node('each', 'iteration', 280, 0, { label: t('Each harbour', '逐个港口'), description: t('Asks for each', '逐个查询'), items: '{{list}}', workflowId: one }),
        node('out', 'output', 560, 0, { label: t('All', '全部'), outputType: 'json', template: '{{each.results}}' }),
      ],
      edges: edges('in -> each', 'each -> out'),
    },
    script: [planner(['each', t('Ask for each.', '逐个查询。')], ['out', t('All were asked for.', '全部查完。')])],
  }, { list: harbours })
  const inner = (await api.get<{ items: Run[] }>(`/runs?parent=${each.runId}`)).items[0]?.runId ?? ''

  const trip = await api.asking(tripPlanner(t('Trip planner', '行程规划'), language))
  const invoice = await api.asking(invoiceCheck(t('Invoice check', '发票核对'), 86_400))
  const approval = await api.asking(books(language))
  const broken = await api.save({
    name: t('Half drawn', '未画完'), mode: 'DAG',
    graphData: { nodes: [node('ask', 'userInput', 0, 0, { label: t('Ask', '提问'), variables: [] }), node('write', 'llm', 280, 0, { label: t('Write', '撰写'), userPrompt: '{{nowhere.text}}' }), node('lost', 'llm', 280, 200, { label: t('Lost', '未连接') })], edges: edges('ask -> write') },
  })

  const { id: skill } = await api.post<{ id: string }>('/skills', { source: SKILL('Say when the tide is high.') })
  await api.put(`/skills/${skill}`, { source: SKILL('Say when the tide is high, and when it is low.') })
  for (const [name, role] of [[t('Vera Lorenz', '林薇'), 'viewer'], [t('Edgar Holm', '何远'), 'editor']]) await api.post('/users', { name, role })
  await api.post('/auth/api-keys', { name: t('Nightly runs', '夜间运行'), scope: 'run' })
  await api.post('/mcp-servers', { name: 'harbour', url: 'https://tides.example/mcp', token: 'a-secret-token', headers: { 'X-Team': 'tides' } })
  // What the tools say of themselves is accepted by being looked at first; then they say something else.
  const { items } = await api.get<{ items: { id: string, name: string }[] }>('/mcp-servers')
  await api.get(`/mcp-servers/${items.find(({ name }) => name === 'desk')?.id}/tools`)
  await changeTools()
  return { desk, run, other, failed, dag, live, each, inner, trip, invoice, approval, broken, skill }
}

/** An agent that asks before it says anything aloud. */
function books(language: Language): Document {
  const t = (en: string, zh: string) => (language === 'en' ? en : zh)
  return {
    name: t('Book keeping', '记账'), mode: 'AGENTIC', graphData: {
      nodes: [
        node('ask', 'userInput', 0, 0, { label: t('Invoice', '发票'), description: t('What is to be paid', '需要支付的内容'), variables: [{ name: 'amount', label: t('Amount', '金额'), type: 'integer', default: 1200 }] }),
        node('pay', 'smartAction', 280, 0, { label: t('Pay it', '付款'), description: t('Pays with the tools of the desk', '用 desk 的工具付款'), instruction: t('Pay {{amount}}', '支付 {{amount}}'), mcpServers: ['desk'], approval: ['desk__echo'] }),
        node('out', 'output', 560, 0, { label: t('Receipt', '收据'), outputType: 'text', template: '{{pay.final_response}}' }),
      ],
      edges: edges('ask -> pay', 'pay -> out'),
    },
    script: [
      { for: { node: 'pay' }, replies: [{ tool: { name: 'desk__echo', args: { text: t('Pay 1,200 EUR to Harbour Ltd., invoice 2026-118', '向港务公司支付 1,200 欧元，发票 2026-118') } } }, { text: t('Paid.', '已支付。') }] },
      planner(['pay', t('The amount is known: pay.', '金额已知：付款。')], ['out', t('It is paid.', '已付款。')]),
    ],
  }
}

const press = (page: Page, name: RegExp) => page.getByRole('button', { name }).first().click()
const dialog = (page: Page) => expect(page.getByRole('dialog')).toBeVisible()
const articles = (n: number) => (page: Page) => expect(page.getByRole('article')).toHaveCount(n)
const drawn = (n: number) => (page: Page) => expect(new Editor(page).nodes).toHaveCount(n)
const row = (page: Page) => expect(page.getByRole('row').nth(1)).toBeVisible()
const question = (page: Page) => expect(page.getByRole('form', { name: /^(Question|问题)$/ })).toBeVisible()
/** A section of the settings, from its heading on. */
const section = (name: RegExp) => async (page: Page) => {
  const heading = page.getByRole('heading', { name })
  await expect(heading).toBeVisible()
  await heading.evaluate((element) => { element.scrollIntoView({ block: 'start' }) })
}
const canvas = (then: (page: Page, editor: Editor) => Promise<unknown>) => async (page: Page) => {
  const editor = new Editor(page)
  await expect(editor.nodes.first()).toBeVisible()
  await editor.atRest()
  await then(page, editor)
}

export const SCENES: readonly Scene[] = [
  { name: 'workflows', address: () => '/workflows', ready: row, phone: true },
  { name: 'workflow-new', address: () => '/workflows', ready: async (page) => { await row(page); await page.keyboard.press('n'); await dialog(page) } },
  { name: 'command-bar', address: () => '/workflows', ready: async (page) => { await row(page); await page.keyboard.press('Control+k'); await expect(page.getByRole('option').first()).toBeVisible() } },
  { name: 'editor', address: ({ desk }) => `/workflows/${desk.id}`, ready: drawn(7), phone: true },
  { name: 'editor-form', address: ({ desk }) => `/workflows/${desk.id}`, ready: canvas(async (page, editor) => { await editor.click(editor.byId('write')); await expect(page.locator('.cm-content').first()).toBeVisible() }) },
  { name: 'editor-test', address: ({ desk }) => `/workflows/${desk.id}`, ready: canvas(async (page, editor) => { await editor.click(editor.byId('write')); await page.getByRole('tab', { name: /^(Test|测试)$/ }).click(); await expect(page.getByRole('button', { name: /^(Run the test|运行测试)/ })).toBeVisible() }) },
  { name: 'editor-details', address: ({ desk }) => `/workflows/${desk.id}?panel=details`, ready: drawn(7) },
  { name: 'editor-problems', address: ({ broken }) => `/workflows/${broken.id}?panel=problems`, ready: drawn(3) },
  { name: 'editor-run', address: ({ desk, run }) => `/workflows/${desk.id}?run=${run.runId}&panel=visits`, ready: articles(12), phone: true },
  { name: 'editor-live', address: ({ live }) => `/workflows/${live.workflowId}?run=${live.runId}&panel=visits`, ready: articles(2) },
  { name: 'editor-decisions', address: ({ desk, run }) => `/workflows/${desk.id}?run=${run.runId}&panel=decisions` },
  { name: 'editor-dag-run', address: ({ dag }) => `/workflows/${dag.workflowId}?run=${dag.runId}&panel=visits` },
  { name: 'editor-run-dialog', address: ({ desk }) => `/workflows/${desk.id}?dialog=run`, ready: dialog },
  { name: 'editor-palette', address: ({ desk }) => `/workflows/${desk.id}`, ready: canvas(async (page) => { await page.keyboard.press('n'); await dialog(page) }) },
  { name: 'editor-outline', address: ({ desk }) => `/workflows/${desk.id}`, ready: canvas(page => page.keyboard.press('o')) },
  { name: 'shortcuts', address: ({ desk }) => `/workflows/${desk.id}`, ready: canvas(async (page) => { await page.keyboard.press('?'); await dialog(page) }) },
  { name: 'canvas-question', address: ({ trip }) => `/workflows/${trip.workflow.id}?run=${trip.runId}&panel=decisions`, ready: canvas(async (page, editor) => { await editor.byId('plan').getByRole('button', { name: /^(Answer|回答)$/ }).click(); await expect(page.getByRole('dialog').getByRole('radio').first()).toBeVisible() }) },
  { name: 'versions', address: ({ desk }) => `/workflows/${desk.id}/versions` },
  { name: 'version-difference', address: ({ desk }) => `/workflows/${desk.id}/versions/1/diff/2` },
  { name: 'runs', address: () => '/runs', ready: row, phone: true },
  { name: 'runs-of-a-workflow', address: ({ desk }) => `/workflows/${desk.id}/runs`, ready: row },
  { name: 'decisions-of-a-workflow', address: ({ desk }) => `/workflows/${desk.id}/runs?view=decisions` },
  ...['visits', 'decisions', 'route', 'result', 'inputs', 'usage', 'events'].map((tab): Scene => ({ name: `run-${tab}`, address: ({ run }) => `/runs/${run.runId}?tab=${tab}&visit=6`, phone: tab === 'visits' })),
  { name: 'run-details', address: ({ run }) => `/runs/${run.runId}?tab=visits&visit=6`, ready: async (page) => { for (const name of [/^(Changes|改动)$/, /^(Output|输出)$/, /^(Show what was sent|查看发送内容)$/]) await page.getByRole('article').nth(5).getByRole('button', { name }).click() } },
  { name: 'run-failed', address: ({ failed }) => `/runs/${failed.runId}`, ready: articles(3) },
  { name: 'run-waiting', address: ({ trip }) => `/runs/${trip.runId}`, ready: question, phone: true },
  { name: 'run-dag', address: ({ dag }) => `/runs/${dag.runId}` },
  { name: 'run-fork', address: ({ run }) => `/runs/${run.runId}`, ready: async (page) => { await page.getByRole('button', { name: /^(Fork from here|从这里分叉)$/ }).nth(4).click(); await page.getByRole('dialog').getByRole('button', { name: /^(Edit|编辑) / }).first().click() } },
  { name: 'run-inside', address: ({ each }) => `/runs/${each.runId}`, ready: page => expect(page.getByRole('region', { name: /^(Runs inside|内部运行)$/ })).toBeVisible() },
  { name: 'run-of-a-run', address: ({ inner }) => `/runs/${inner}` },
  { name: 'comparison', address: ({ run, other }) => `/runs/compare?a=${run.runId}&b=${other.runId}` },
  { name: 'inbox', address: ({ trip }) => `/inbox/${trip.pause.pauseId}`, ready: question, phone: true },
  { name: 'inbox-form', address: ({ invoice }) => `/inbox/${invoice.pause.pauseId}`, ready: question },
  { name: 'inbox-approval', address: ({ approval }) => `/inbox/${approval.pause.pauseId}`, ready: question, phone: true },
  { name: 'inbox-faults', address: ({ trip }) => `/inbox/${trip.pause.pauseId}`, ready: async (page) => { await press(page, /^(Answer|回答)$/); await expect(page.getByRole('alert')).toBeVisible() } },
  { name: 'models', address: () => '/models', ready: page => expect(page.getByRole('heading', { name: 'scripted' })).toBeVisible() },
  { name: 'model-new', address: () => '/models', ready: async (page) => { await press(page, /^(Add a model|添加模型)$/); await dialog(page) } },
  { name: 'skills', address: () => '/skills', ready: page => expect(page.getByRole('main').getByRole('listitem').first()).toBeVisible() },
  { name: 'skill', address: ({ skill }) => `/skills/${skill}`, ready: page => expect(page.getByLabel('SKILL.md')).toBeVisible() },
  { name: 'skill-versions', address: ({ skill }) => `/skills/${skill}`, ready: async (page) => { await press(page, /^(Versions|版本)$/); await press(page, /^(Compare version 1 with now|将版本 1 与现在比较)$/); await expect(page.getByRole('dialog').locator('ins').first()).toBeVisible() } },
  { name: 'mcp', address: () => '/mcp-servers', ready: async (page) => { await page.getByRole('article', { name: 'desk' }).getByRole('button', { name: /^(Test and show tools|测试并显示工具)$/ }).click(); await expect(page.getByRole('button', { name: /^(Accept as shown|按所示接受)$/ })).toBeVisible() } },
  { name: 'mcp-new', address: () => '/mcp-servers', ready: async (page) => { await press(page, /^(Add a server|添加服务器)$/); await press(page, /^(Add a header|添加请求头)$/) } },
  { name: 'settings', address: () => '/settings', ready: page => expect(page.getByRole('heading', { name: /^(Audit log|审计日志)$/ })).toBeAttached(), phone: true },
  { name: 'settings-keys', address: () => '/settings', ready: section(/^(API keys|API 密钥)$/) },
  { name: 'settings-people', address: () => '/settings', ready: section(/^(People|成员)$/), phone: true },
  { name: 'settings-remove', address: () => '/settings', ready: async (page) => { await press(page, /^(Remove Vera|移除“林薇”)/); await dialog(page) } },
  { name: 'nothing', address: () => '/nowhere' },
]

/** Opens a scene and waits until it stands there. */
export async function open(page: Page, scene: Scene, made: Made) {
  await page.goto(scene.address(made))
  await expect(page.getByRole('heading', { level: 1 })).toBeAttached()
  await scene.ready?.(page)
}
