/**
 * The `test` of every journey: one server, a signed-in browser, and a guard.
 *
 * The guard fails a journey on any error in the console, any breach of the content security policy and any request to
 * another host, on whatever page of the journey. What a journey provokes on purpose it allows by name.
 */
import { test as base, expect, type BrowserContext } from '@playwright/test'
import type { Api } from './api.ts'
import { FlybackServer, type Served } from './server.ts'

export class Guard {
  readonly faults: string[] = []
  #allowed: RegExp[] = []

  constructor(context: BrowserContext, baseUrl: string) {
    const own = new URL(baseUrl).host
    context.on('console', (message) => {
      if (message.type() === 'error') this.#note(`console: ${message.text()} (${message.location().url})`)
    })
    context.on('weberror', (error) => { this.#note(`page: ${error.error().stack ?? error.error().message}`) })
    context.on('request', (request) => {
      const url = new URL(request.url())
      if (url.protocol.startsWith('http') && url.host !== own) this.#note(`request to another host: ${request.url()}`)
    })
  }

  /** Faults that this journey means to cause. */
  allow(...patterns: RegExp[]) {
    this.#allowed.push(...patterns)
  }

  #note(fault: string) {
    if (!this.#allowed.some(pattern => pattern.test(fault))) this.faults.push(fault)
  }
}

interface ForTest { api: Api, guard: Guard }
interface ForWorker { flyback: FlybackServer, /** Journeys that say the same share a server. */ served: Served }

export const test = base.extend<ForTest, ForWorker>({
  served: ['plain', { option: true, scope: 'worker' }],
  flyback: [async ({ served }, use) => {
    const server = await FlybackServer.create(served)
    await use(server)
    await server.remove()
  }, { scope: 'worker', timeout: 90_000 }],
  baseURL: async ({ flyback }, use) => { await use(flyback.baseUrl) },
  storageState: async ({ flyback }, use) => { await use(flyback.session) },
  api: async ({ flyback }, use) => { await use(flyback.api) },
  guard: [async ({ context, flyback }, use) => {
    const guard = new Guard(context, flyback.baseUrl)
    await context.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => {
        console.error(`policy ${event.violatedDirective} refused ${event.blockedURI}`)
      })
    })
    await use(guard)
    expect(guard.faults, 'errors in the console, breaches of the policy, requests to other hosts').toEqual([])
  }, { auto: true }],
})

export { expect }
