/** Another page on the same machine, at a port of its own: to a browser the same site as the server, and no friend of it. */
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

export class Neighbour {
  private constructor(private readonly server: Server, readonly asked: string[]) {}

  /** Serves one page at every address, and notes what it is asked for. */
  static async opens(html: string): Promise<Neighbour> {
    const asked: string[] = []
    const server = createServer((request, response) => {
      asked.push(`${request.method ?? ''} ${request.url ?? ''}`)
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Neighbour(server, asked)
  }

  at(host: '127.0.0.1' | 'localhost' = '127.0.0.1'): string {
    return `http://${host}:${String((this.server.address() as AddressInfo).port)}/`
  }

  close(): void {
    this.server.close()
    this.server.closeAllConnections()
  }
}
