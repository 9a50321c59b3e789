/** A run as a person sees it beside the canvas or on its own page: chain, decisions, route, result. */
import type { Locator, Page } from '@playwright/test'

export class RunView {
  constructor(readonly page: Page) {}

  get chain() { return this.page.getByRole('list', { name: /^(Visits in order|按顺序的访问)$/ }) }
  get visits() { return this.chain.getByRole('article') }
  get result() { return this.page.getByRole('region', { name: /^(Final output|最终输出)$/ }) }
  get ribbon() { return this.page.getByRole('list', { name: /^(Route|路线)$/ }) }
  get stops() { return this.ribbon.getByRole('button') }
  /** The lines of steps that left the drawing. They are drawn only; the ribbon says the same to those who do not see. */
  get arcs() { return this.page.locator('svg.route path.line.jump') }

  /** Question cards that are seen: in the chain, or beside a node. */
  get questions() { return this.page.getByRole('form', { name: /^(Question|问题)$/ }) }

  /** The n-th visit of the run, from 1. */
  visit(n: number): Locator {
    return this.visits.nth(n - 1)
  }
  badge(n: number): Locator {
    return this.visit(n).locator('[data-step]')
  }
  decisionAfter(n: number): Locator {
    return this.chain.locator('li.between').nth(n - 1)
  }
  title(n: number): Locator {
    return this.visit(n).getByRole('heading', { level: 3 })
  }
}
