/** Drawing a workflow from nothing and running it, with the mouse and with nothing but keys; and what a drawing guards. */
import { edges, letter, node } from '../kit/documents.ts'
import { Editor } from '../kit/editor.ts'
import { expect, test } from '../kit/test.ts'

test('a person draws a workflow from nothing with the mouse, and runs it', async ({ page, api }) => {
  await page.goto('/workflows')
  await page.getByRole('banner').getByRole('button', { name: 'New workflow' }).click()
  const dialog = page.getByRole('dialog', { name: 'New workflow' })
  await dialog.getByLabel('Name').fill('By hand')
  await dialog.getByRole('radio', { name: /strictly along the edges/ }).check()
  await dialog.getByRole('button', { name: 'Create' }).click()
  const editor = new Editor(page)
  await page.getByRole('button', { name: 'Add the first node' }).click()
  await editor.palette.getByRole('combobox').fill('User input')
  await page.keyboard.press('Enter')
  await expect(editor.nodes).toHaveCount(1)
  await editor.form.getByRole('button', { name: 'Add a variable' }).click()
  await editor.form.getByRole('textbox', { name: 'Name' }).fill('city')
  await editor.form.getByRole('textbox', { name: 'What the person is asked' }).fill('Which city?')

  await editor.add('Template')
  await expect(editor.nodes).toHaveCount(2)
  await editor.form.getByRole('textbox', { name: 'Label' }).fill('Greet')
  await editor.add('Output')
  await expect(editor.nodes).toHaveCount(3)
  await editor.form.getByRole('textbox', { name: 'Label' }).fill('Result')
  await page.keyboard.press('Escape')
  await editor.tool('Lay out').click()
  await expect(editor.tool('Undo: lay out')).toBeVisible()
  await editor.atRest()

  await editor.drag(editor.node('User input'), editor.node('Greet'))
  await editor.drag(editor.node('Greet'), editor.node('Result'))
  await editor.saved()
  const id = page.url().split('/').at(-1)?.split('?')[0] ?? ''
  await expect.poll(async () => (await api.workflow(id)).graphData.edges.length).toBe(2)

  // The template's field offers what leads here.
  await editor.click(editor.node('Greet'))
  await editor.field('Template').click()
  await page.keyboard.type('Good morning, {{ci')
  await page.getByRole('option', { name: /city/ }).first().click()
  await expect(editor.field('Template')).toHaveText(/Good morning, \{\{.*city\}\}/)
  await page.keyboard.press('Escape')
  await editor.saved()

  await page.getByRole('banner').getByRole('button', { name: 'Run' }).click()
  const form = page.getByRole('dialog', { name: /^Run / })
  await form.getByLabel('Which city?').fill('Oslo')
  await form.getByRole('button', { name: 'Run' }).click()
  await expect(editor.node('Result')).toHaveAttribute('data-status', 'SUCCESS')
  await expect(page.getByRole('region', { name: 'Final output' })).toContainText('Good morning, Oslo')
})

test('a person draws and runs with nothing but keys', async ({ page, api }) => {
  const { id } = await api.save({ name: 'By keys', mode: 'DAG', graphData: { nodes: [], edges: [] } })
  const editor = await new Editor(page).open(id)
  const add = async (type: string, count: number) => {
    await page.keyboard.press('n')
    await expect(editor.palette).toBeVisible()
    await page.keyboard.type(type)
    await page.keyboard.press('Enter')
    await expect(editor.nodes).toHaveCount(count)
    await page.keyboard.press('Escape')
  }
  await add('Template', 1)
  await add('Output', 2)
  await page.keyboard.press('Control+z')
  await expect(editor.nodes).toHaveCount(1)
  await page.keyboard.press('Control+Shift+z')
  await expect(editor.nodes).toHaveCount(2)

  // Onto the template, write in it, then lead it to the output.
  await editor.node('Template').focus()
  await page.keyboard.press('Enter')
  await expect(editor.form).toBeVisible()
  await expect(editor.form.locator(':focus')).toHaveCount(1)
  for (let presses = 0; presses < 12 && !await editor.field('Template').evaluate(field => field === document.activeElement); presses += 1) await page.keyboard.press('Tab')
  await page.keyboard.type('Hello from the keys')
  await page.keyboard.press('Escape')
  await editor.node('Template').focus()
  await page.keyboard.press('e')
  await expect(page.getByRole('dialog', { name: 'Lead from Template to' })).toBeVisible()
  await page.keyboard.type('Output')
  await page.keyboard.press('Enter')
  await editor.saved()
  await expect.poll(async () => (await api.workflow(id)).graphData.edges.length).toBe(1)
  await page.keyboard.press('Control+Enter')
  await expect(editor.node('Output')).toHaveAttribute('data-status', 'SUCCESS')
  await expect(page.getByRole('region', { name: 'Final output' })).toContainText('Hello from the keys')
})

test('an edge that cannot be is refused with the reason, by mouse and by keys', async ({ page, api }) => {
  const { id } = await api.save({ ...letter('Refusals'), mode: 'DAG' })
  const editor = await new Editor(page).open(id)
  const from = await editor.node('Read').locator('[data-handleid="output"]').boundingBox()
  const to = await editor.node('Draft').boundingBox()
  if (!from || !to) throw new Error('the nodes are not there')
  await page.mouse.move(from.x + 4, from.y + 4)
  await page.mouse.down()
  await page.mouse.move(to.x + 40, to.y + 30, { steps: 6 })
  await expect(page.getByText('This would make a cycle, and this workflow is DAG')).toBeVisible()
  await page.mouse.up()
  await editor.node('Read').focus()
  await page.keyboard.press('Space')
  await page.keyboard.press('e')
  await expect(page.getByRole('option', { name: /Draft/ })).toContainText('This would make a cycle, and this workflow is DAG')
  await page.keyboard.press('Escape')
  expect((await api.workflow(id)).graphData.edges).toHaveLength(3)
})

test('the edges of a condition go with their branches when one is inserted, moved or removed', async ({ page, api }) => {
  const { id } = await api.save({
    name: 'Branches', mode: 'DAG', graphData: {
      nodes: [
        node('in', 'userInput', 0, 0, { label: 'In', variables: [{ name: 'q', label: 'q', type: 'string' }] }),
        node('c', 'condition', 280, 0, { label: 'Which', conditions: [{ type: 'IF', expression: 'cold' }, { type: 'ELIF', expression: 'warm' }] }),
        node('cold', 'output', 620, -160, { label: 'Cold', outputType: 'text', template: 'cold' }),
        node('warm', 'output', 620, 0, { label: 'Warm', outputType: 'text', template: 'warm' }),
        node('else', 'output', 620, 160, { label: 'Else', outputType: 'text', template: 'else' }),
      ],
      edges: edges('in -> c', 'c:branch-0 -> cold', 'c:branch-1 -> warm', 'c:branch-2 -> else'),
    },
  })
  const editor = await new Editor(page).open(id)
  const handles = async () => Object.fromEntries((await api.workflow(id)).graphData.edges.filter(edge => edge.source === 'c').map(edge => [edge.target, edge.sourceHandle]))
  await editor.click(editor.node('Which'))
  await editor.form.getByRole('button', { name: 'Insert ELIF below' }).first().click()
  await expect.poll(handles).toEqual({ cold: 'branch-0', warm: 'branch-2', else: 'branch-3' })
  await editor.form.getByRole('button', { name: 'Move ELIF 2 up' }).click()
  await editor.form.getByRole('button', { name: 'Move ELIF 1 up' }).click()
  await expect.poll(handles).toEqual({ warm: 'branch-0', cold: 'branch-1', else: 'branch-3' })
  await editor.form.getByRole('button', { name: 'Remove ELIF 2' }).click()
  await expect.poll(handles).toEqual({ warm: 'branch-0', cold: 'branch-1', else: 'branch-2' })
  await editor.form.getByRole('button', { name: 'Remove IF' }).click()
  await expect.poll(handles).toEqual({ cold: 'branch-0', else: 'branch-1' })
  // Each was one step, so four steps back is where it began.
  await editor.tool(/^Undo/).click()
  await expect.poll(handles).toEqual({ warm: 'branch-0', cold: 'branch-1', else: 'branch-2' })
})

test('switching to AGENTIC explains itself once, and the canvas says which mode it is', async ({ page, api }) => {
  const { id } = await api.save({ ...letter('Mode'), mode: 'DAG' })
  const editor = await new Editor(page).open(id)
  await page.getByRole('button', { name: 'Details' }).first().click()
  await editor.panel.getByRole('radio', { name: /any node may be visited/ }).check()
  await expect(editor.panel.getByText('The canvas becomes a map of what can be done. The planner may visit any node, some several times; results follow the order of visits.')).toBeVisible()
  await expect(page.getByRole('button', { name: /AGENTIC MODE/ })).toBeVisible()
  await page.getByRole('button', { name: 'Understood' }).click()
  await expect(page.getByRole('button', { name: 'Understood' })).toHaveCount(0)
  await editor.saved()
  expect((await api.workflow(id)).mode).toBe('AGENTIC')
})

test('a problem is said while one draws, and leads to its place', async ({ page, api }) => {
  const document = letter('Problems')
  document.graphData.nodes.push(node('stray', 'http', 280, 320, { label: 'Stray', url: '' }))
  const { id } = await api.save(document)
  const editor = await new Editor(page).open(id)
  await editor.node('Stray').getByRole('button', { name: 'Show the problems' }).click()
  await editor.panel.getByRole('button', { name: /Stray/ }).first().click()
  await expect(page.getByRole('region', { name: 'Form of Stray' })).toBeVisible()
  await expect(editor.form.locator(':focus')).toHaveCount(1)
})

test('the outline is the same drawing, and everything can be done in it', async ({ page, api }) => {
  const { id } = await api.save(letter('Outlined'))
  const editor = await new Editor(page).open(id)
  await page.keyboard.press('o')
  const outline = page.getByRole('region', { name: 'Outline' })
  await outline.getByRole('combobox', { name: /^Lead from Read/ }).selectOption('Draft')
  await outline.getByRole('button', { name: 'Remove Send' }).click()
  await editor.saved()
  const { nodes, edges: drawn } = (await api.workflow(id)).graphData
  expect(nodes.map(each => each.id)).toEqual(['ask', 'draft', 'read'])
  expect(drawn.map(edge => `${edge.source} -> ${edge.target}`)).toEqual(['ask -> draft', 'draft -> read', 'read -> draft'])
})

test('find and replace goes over all prompts and is one step', async ({ page, api }) => {
  const { id } = await api.save(letter('Replace'))
  const editor = await new Editor(page).open(id)
  await page.keyboard.press('Control+Alt+f')
  await page.getByRole('textbox', { name: 'Find in labels and prompts' }).or(page.getByRole('searchbox', { name: 'Find in labels and prompts' })).fill('draft.text')
  await page.getByRole('textbox', { name: 'Replace by' }).fill('draft.text?')
  await page.getByRole('button', { name: 'Replace all' }).click()
  await editor.saved()
  const prompts = async () => JSON.stringify((await api.workflow(id)).graphData.nodes)
  await expect.poll(prompts).toContain('What is missing in {{draft.text?}}')
  await expect.poll(prompts).toContain('{{draft.text?}}')
  await editor.tool(/^Undo/).click()
  await expect.poll(prompts).not.toContain('draft.text?')
})

test('what is added, pasted or duplicated lies on nothing, and in view', async ({ page, api }) => {
  const { id } = await api.save(letter('Free places'))
  const editor = await new Editor(page).open(id)
  await expect(editor.nodes).toHaveCount(4)
  await editor.atRest()
  for (const count of [5, 6, 7]) {
    await editor.add('Template')
    await expect(editor.nodes).toHaveCount(count)
    await page.keyboard.press('Escape')
  }
  await editor.click(editor.node('Draft'))
  await page.keyboard.press('Escape')
  await editor.node('Draft').focus()
  await page.keyboard.press('Control+d')
  await page.keyboard.press('Control+d')
  await expect(editor.nodes).toHaveCount(9)
  await page.keyboard.press('Control+c')
  await page.keyboard.press('Control+v')
  await expect(editor.nodes).toHaveCount(10)
  await editor.atRest()
  const boxes = await editor.nodes.evaluateAll(nodes => nodes.map((node) => { const { x, y, width, height } = node.getBoundingClientRect(); return { id: node.getAttribute('data-node'), x, y, width, height } }))
  const pairs = boxes.flatMap((a, index) => boxes.slice(index + 1).filter(b => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height).map(b => `${a.id} on ${b.id}`))
  expect(pairs).toEqual([])
  await expect(editor.canvas.locator('.node.selected')).toBeInViewport({ ratio: 1 })
})
