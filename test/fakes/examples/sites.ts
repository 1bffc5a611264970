import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The function in which the bug is that bug-reporter is asked about. */
const source = `export function parseSize(text) {
  const [, amount, unit] = /^(\\d+)(?:\\.\\d+)? (KiB|MiB)$/.exec(text)
  return Number(amount) * (unit === 'KiB' ? 1024 : 1048576)
}`

/** A page of releases and the parts of a code host that the examples ask, on loopback. */
export async function startSites() {
  const releases = [
    { tag_name: 'v1.1.0', body: 'Breaking: Node 20 is the least. Security: headers are checked.' },
    { tag_name: 'v1.0.0', body: 'The first.' },
  ]
  const issues: { title: string; html_url: string; body: string }[] = []
  const asked: string[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    asked.push(`${request.method} ${url.pathname}`)
    const json = (status: number, value: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(value))
    }
    if (url.pathname === '/releases') return json(200, releases)
    if (url.pathname === '/search/issues') return json(200, { items: issues })
    if (url.pathname === '/search/code')
      return json(200, {
        items: [{ path: 'src/parse-size.js', url: `${address}/raw/parse-size.js` }],
      })
    if (url.pathname === '/raw/parse-size.js') {
      response.writeHead(200, { 'content-type': 'text/plain' })
      return response.end(source)
    }
    if (request.method !== 'POST' || url.pathname !== '/repos/acme/parse/issues')
      return json(404, { message: 'Not Found' })
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const html_url = `${address}/acme/parse/issues/${issues.length + 1}`
      issues.push({ ...JSON.parse(body), html_url })
      json(201, { html_url })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const address = `http://127.0.0.1:${port}`
  return {
    url: address,
    host: `127.0.0.1:${port}`,
    releases,
    issues,
    asked,
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}
