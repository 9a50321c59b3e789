/** What a model, a person or a skill may write is shown as text wherever it appears: nothing of it runs, nothing is fetched. */
import type { Page } from '@playwright/test'
import { edges, node, type Document } from './kit/documents.ts'
import { Editor } from './kit/editor.ts'
import { RunView } from './kit/run.ts'
import { expect, test } from './kit/test.ts'

const HOSTILE = [
  '<script>window.pwned = 1</script>',
  '<img src=x onerror="window.pwned = 2"><svg onload="window.pwned = 3"></svg><iframe src="https://evil.example/frame"></iframe>',
  '![pixel](https://evil.example/pixel.png) ![inline](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+)',
  '[press](javascript:window.pwned=4) [also](JaVaScRiPt&colon;window.pwned=5) [file](file:///etc/passwd) [data](data:text/html,<script>window.pwned=8</script>) [vb](vbscript:msgbox) [fine](https://example.org/)',
  '<style>body { display: none }</style><link rel="stylesheet" href="https://evil.example/a.css"><base href="https://evil.example/">',
  '```html\n<script>window.pwned = 6</script>', '**unclosed *markdown [broken](', '<a href="https://evil.example" onclick="window.pwned = 7">a</a>',
  '<form action="https://evil.example"><button>send</button></form>', '{{constructor.constructor("window.pwned = 8")()}}',
].join('\n\n')
const LABEL = '<img src=x onerror=window.pwned=9>'

const document: Document = {
  name: `${LABEL} workflow`, mode: 'AGENTIC', description: HOSTILE.slice(0, 400), graphData: {
    nodes: [
      node('in', 'userInput', 0, 0, { label: `In ${LABEL}`, variables: [{ name: 'q', label: LABEL, type: 'text', description: HOSTILE }] }),
      node('say', 'llm', 280, 0, { label: `Say ${LABEL}`, description: HOSTILE.slice(0, 300), userPrompt: '{{q}}' }),
      node('note', 'note', 0, 220, { text: HOSTILE }),
      node('out', 'output', 560, 0, { label: `Out ${LABEL}`, outputType: 'markdown', template: '{{say.text}}' }),
    ],
    edges: edges('in -> say', 'say -> out'),
  },
  script: [
    { for: { node: 'say' }, replies: [{ stream: HOSTILE.match(/[\s\S]{1,40}/g) ?? [], everyMs: 5 }, { text: HOSTILE }] },
    { for: { role: 'planner' }, replies: [{ next: 'say', reason: HOSTILE }, { next: 'nowhere', reason: HOSTILE }, { next: 'say', reason: LABEL }, { next: 'out', reason: HOSTILE }] },
  ],
}

/** Nothing ran, nothing of a text became more than text, and every link that is left is an honest one. */
async function expectOnlyText(page: Page) {
  expect(await page.evaluate(() => (window as { pwned?: number }).pwned)).toBeUndefined()
  await expect(page.locator('main :is(script, iframe, link, base, form[action], object, embed), main [onerror], main [onload], main [onclick]')).toHaveCount(0)
  await expect(page.locator('img:not([src^="/"])')).toHaveCount(0)
  const links = await page.locator('main a[href]').evaluateAll(found => found.map(link => (link as HTMLAnchorElement).protocol))
  expect(links.filter(protocol => !['http:', 'https:', 'mailto:'].includes(protocol))).toEqual([])
}

test('texts of models, labels, reasons and inputs stay texts in every view of a run', async ({ page, api }) => {
  const { workflow, run } = await api.played(document, { q: HOSTILE })
  await new Editor(page).open(workflow.id, `?run=${run.runId}&panel=visits`)
  const shown = new RunView(page)
  await expect(shown.result).toBeVisible()
  await expect(shown.result.getByRole('link', { name: 'fine' })).toHaveAttribute('rel', /noopener/)
  await expect(shown.result.getByRole('link', { name: 'press' })).toHaveCount(0)
  for (const n of [2, 3]) {
    await shown.visit(n).getByRole('button', { name: 'Output', exact: true }).click()
    await shown.visit(n).getByRole('button', { name: 'Changes' }).click()
    await shown.visit(n).getByRole('button', { name: 'Show what was sent' }).click()
  }
  await shown.decisionAfter(2).getByRole('button', { name: 'Show what was sent' }).click()
  await shown.visit(2).getByRole('radio', { name: 'Markdown' }).first().check({ force: true })
  await expectOnlyText(page)
  for (const tab of ['visits', 'decisions', 'route', 'result', 'inputs', 'usage', 'events']) {
    await page.goto(`/runs/${run.runId}?tab=${tab}`)
    await expect(page.getByRole('tabpanel')).not.toBeEmpty()
    await expectOnlyText(page)
  }
  for (const path of ['/runs', '/workflows', `/workflows/${workflow.id}/versions`, `/runs/compare?a=${run.runId}&b=${run.runId}`]) {
    await page.goto(path)
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
    await expectOnlyText(page)
  }
})

test('text that streams in pieces is never more than text on the way', async ({ page, api }) => {
  const { id } = await api.save({ ...document, name: 'Stream' })
  const editor = await new Editor(page).open(id)
  await page.getByRole('banner').getByRole('button', { name: 'Run' }).click()
  await page.getByRole('dialog', { name: /^Run / }).getByRole('textbox').first().fill(HOSTILE)
  await page.getByRole('dialog', { name: /^Run / }).getByRole('button', { name: 'Run' }).click()
  await expect(new RunView(page).result).toBeVisible()
  await expect(editor.nodes).toHaveCount(4)
  await expectOnlyText(page)
})

test('what an agent asks, and what a person answers, stay texts in the chain, on the canvas, in the inbox and in a fork', async ({ page, api }) => {
  const asks: Document = {
    name: 'Asks', mode: 'AGENTIC', graphData: {
      nodes: [
        node('in', 'userInput', 0, 0, { label: 'In', description: 'in', variables: [{ name: 'q', label: 'q', type: 'text', default: HOSTILE }] }),
        node('work', 'smartAction', 280, 0, { label: `Work ${LABEL}`, description: 'works', instruction: '{{q}}' }),
        node('out', 'output', 560, 0, { label: 'Out', outputType: 'markdown', template: '{{work.final_response}}' }),
      ],
      edges: edges('in -> work', 'work -> out'),
    },
    script: [
      { for: { node: 'work' }, replies: [{ tool: { name: 'clarify', args: { questions: [{ question: HOSTILE, choices: [LABEL, HOSTILE] }, { question: LABEL }] } } }, { text: HOSTILE }], repeatLast: true },
      { for: { role: 'planner' }, replies: [{ next: 'work', reason: LABEL }, { next: LABEL, reason: HOSTILE }, { next: 'out', reason: HOSTILE }] },
    ],
  }
  const { workflow, runId, pause } = await api.asking(asks, { q: HOSTILE })
  const editor = await new Editor(page).open(workflow.id, `?run=${runId}&panel=visits`)
  await editor.atRest()
  await editor.byId('work').getByRole('button', { name: 'Answer', exact: true }).click()
  await expect(page.getByRole('dialog', { name: /^Question of/ }).getByRole('radio').first()).toBeVisible()
  await expectOnlyText(page)
  await page.goto(`/inbox/${pause.pauseId}`)
  const card = new RunView(page).questions
  await card.getByRole('radio').first().check()
  await card.getByRole('textbox').fill(HOSTILE)
  await card.getByRole('button', { name: 'Answer' }).click()
  await expect(card).toContainText('Your answer is in.')
  await expectOnlyText(page)
  await api.ended(runId)
  await page.goto(`/runs/${runId}`)
  const run = new RunView(page)
  await expect(run.visit(2)).toContainText(/Answered by/)
  await run.decisionAfter(2).getByRole('button', { name: /rejected/ }).click()
  await run.decisionAfter(2).getByText('Whole answer').click()
  await run.visit(2).getByRole('button', { name: 'Fork from here' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Edit work__final_response' }).click()
  await expect(page.getByRole('dialog').getByLabel('Value of work__final_response')).toBeVisible()
  await expectOnlyText(page)
})

test('the name and text of a skill stay texts', async ({ page, api }) => {
  const name = '<img src=x onerror=window.pwned=10>'
  await api.post('/skills', { source: `---\nname: "${name}"\ndescription: "<script>window.pwned = 11</script>"\n---\n${HOSTILE}` })
  await page.goto('/skills')
  await page.getByRole('listitem').getByRole('link', { name }).click()
  await expect(page.getByLabel('SKILL.md')).toBeVisible()
  await expectOnlyText(page)
})
