/**
 * A real Flyback server in a process of its own over a temporary data folder: started, killed, started again.
 *
 * It keeps its port over a restart, so that an open page finds it again.
 */
import { spawn, execFile, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Api } from './api.ts'
import { signIn, type Session } from './session.ts'

const FLYBACK = process.env['FLYBACK'] ?? fileURLToPath(new URL('../../../.venv/bin/flyback', import.meta.url))
const TOOLS = fileURLToPath(new URL('../../../backend/tests/kit/mcp_server.py', import.meta.url))
const CHANGED = 'tools-changed'
/** A real MCP server as a program of the operator's file, named `desk`. */
const operatorsTools = (data: string) => `[servers.desk]\ncommand = ${JSON.stringify(join(dirname(FLYBACK), 'python'))}\nargs = [${[TOOLS, 'stdio', join(data, CHANGED)].map(each => JSON.stringify(each)).join(', ')}]\n`
const LINK = /Sign in: (http:\/\/127\.0\.0\.1:(\d+)\/sign-in#secret=\S+)/
const run = promisify(execFile)

/** What the server of some journeys is for: with `desk` or without, and changed by what is drawn for pictures. */
export type Served = 'plain' | 'with tools' | 'for scenes'

export class FlybackServer {
  baseUrl = ''
  /** The link of the first start, with which `create` signed in. */
  usedLink = ''
  api!: Api
  session!: Session
  #port = 0
  #process: ChildProcess | undefined
  #log: string[] = []
  readonly data: string

  private constructor(data: string) {
    this.data = data
  }

  /** Starts a server over a new folder and signs in: `api` speaks with a key of its own, `session` is a browser's. */
  static async create(served: Served = 'plain'): Promise<FlybackServer> {
    const server = new FlybackServer(await mkdtemp(join(tmpdir(), 'flyback-e2e-')))
    if (served !== 'plain') await writeFile(join(server.data, 'mcp.toml'), operatorsTools(server.data))
    server.usedLink = await server.start()
    const { session, csrfToken } = await signIn(server.baseUrl, server.usedLink)
    server.session = session
    server.api = await Api.withKey(server.baseUrl, session, csrfToken)
    await server.api.put('/settings', { defaultModel: 'scripted' })
    return server
  }

  /** Starts the process, waits until it can be talked to, and returns the sign-in link that it printed. */
  async start(): Promise<string> {
    const child = spawn(FLYBACK, ['serve', '--data', this.data, '--port', String(this.#port)], {
      detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, PYTHONUNBUFFERED: '1' },
    })
    this.#process = child
    child.stderr?.on('data', (text: Buffer) => { this.#log.push(text.toString()) })
    const link = await this.#readLink(child)
    this.baseUrl = new URL(link).origin
    this.#port = Number(new URL(link).port)
    return link
  }

  /** From now on `desk` says something else of its tools. */
  changeTools = () => writeFile(join(this.data, CHANGED), '')

  /** Ends the process as a power cut ends it. */
  kill = () => this.#end('SIGKILL')
  /** Ends the process in order. */
  stop = () => this.#end('SIGTERM')

  /** Another one-time link, while the server runs. */
  async newLink(): Promise<string> {
    const { stdout } = await run(FLYBACK, ['sign-in', '--data', this.data])
    const found = /http:\/\/\S+#secret=\S+/.exec(stdout)
    if (!found) throw new Error(`no link in: ${stdout}`)
    return found[0]
  }

  async remove(): Promise<void> {
    await this.stop()
    await rm(this.data, { recursive: true, force: true })
  }

  get log(): string {
    return this.#log.join('')
  }

  async #readLink(child: ChildProcess): Promise<string> {
    if (!child.stdout) throw new Error('the server has no output')
    const lines = createInterface({ input: child.stdout })
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => { child.kill('SIGKILL') }, 60_000)
      lines.on('line', (line) => {
        this.#log.push(`${line}\n`)
        const found = LINK.exec(line)
        if (found?.[1]) {
          clearTimeout(late)
          resolve(found[1])
        }
      })
      child.once('exit', () => {
        clearTimeout(late)
        reject(new Error(`the server did not start:\n${this.log}`))
      })
    })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (!child?.pid || child.exitCode !== null) return
    const ended = once(child, 'exit')
    // The whole group: what the server started goes with it.
    process.kill(signal === 'SIGKILL' ? -child.pid : child.pid, signal)
    await ended
  }
}
