/** The editor as a person sees it: canvas, nodes by their labels, the form, the tools. */
import type { Locator, Page } from '@playwright/test'
import { expect } from './test.ts'

export class Editor {
  constructor(readonly page: Page) {}

  async open(workflowId: string, query = ''): Promise<this> {
    await this.page.goto(`/workflows/${workflowId}${query}`)
    await expect(this.canvas).toBeVisible()
    return this
  }

  get canvas() { return this.page.getByRole('group', { name: /^(Workflow canvas|工作流画布)/ }) }
  get nodes() { return this.canvas.locator('[data-node]') }
  get form() { return this.page.getByRole('region', { name: /^Form of/ }) }
  get panel() { return this.page.getByRole('complementary', { name: /^(Panel|侧栏|面板)/ }) }
  get palette() { return this.page.getByRole('dialog', { name: 'Add a node' }) }

  /** A node by its label, or by its id where it has none. */
  node(label: string): Locator {
    return this.canvas.getByRole('group', { name: new RegExp(`^${label}(,|$)`) })
  }
  byId(id: string): Locator {
    return this.canvas.locator(`[data-node="${id}"]`)
  }
  edge(from: string, to: string): Locator {
    return this.canvas.getByRole('img', { name: `Edge from ${from} to ${to}` }).or(this.canvas.locator(`[aria-label="Edge from ${from} to ${to}"]`)).first()
  }

  /** A node is pressed at its head: the foot and the handles are other things. */
  async click(node: Locator, options: { modifiers?: ('Shift' | 'Control')[] } = {}) {
    await node.click({ position: { x: 60, y: 20 }, ...options })
  }
  field(name: string): Locator {
    return this.form.getByRole('textbox', { name, exact: true })
  }
  /** Puts a text into a field in place of what stands there, by keys. */
  async write(name: string, text: string) {
    const field = this.field(name)
    await field.click()
    await this.page.keyboard.press('Control+a')
    await this.page.keyboard.insertText(text)
  }

  tool(name: string | RegExp): Locator {
    return this.page.getByRole('toolbar', { name: 'Canvas tools' }).getByRole('button', { name })
  }
  async add(type: string) {
    await this.tool('Add a node').click()
    await this.palette.getByRole('combobox').fill(type)
    await this.page.keyboard.press('Enter')
  }

  /** Draws an edge with the mouse, from a handle of one node to another node. */
  async drag(from: Locator, to: Locator, handle = 'output') {
    const source = await box(from.locator(`[data-handleid="${handle}"]`))
    const target = await box(to)
    await this.page.mouse.move(source.x + source.width / 2, source.y + source.height / 2)
    await this.page.mouse.down()
    await this.page.mouse.move(target.x + 30, target.y + target.height / 2, { steps: 8 })
    await this.page.mouse.up()
  }
  async move(node: Locator, dx: number, dy: number) {
    const { x, y } = await box(node)
    await this.page.mouse.move(x + 60, y + 20)
    await this.page.mouse.down()
    await this.page.mouse.move(x + 60 + dx, y + 20 + dy, { steps: 8 })
    await this.page.mouse.up()
  }

  /** Waits until the drawing moves no more: a layout was found, a view was fitted. */
  async atRest() {
    const places = async () => JSON.stringify(await this.nodes.evaluateAll(nodes => nodes.map((node) => { const { x, y } = node.getBoundingClientRect(); return [x, y] })))
    let before = ''
    await expect.poll(async () => {
      const now = await places()
      const still = now === before
      before = now
      return still
    }, { intervals: [250] }).toBe(true)
  }

  /** Waits until what is on the page is stored. */
  async saved() {
    await expect(this.page.getByRole('status').filter({ hasText: /^Saved$/ })).toBeVisible()
  }
}

async function box(what: Locator) {
  const found = await what.boundingBox()
  if (!found) throw new Error(`not on the page: ${what.toString()}`)
  return found
}
