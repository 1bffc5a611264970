import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openFront } from '../../scripts/front.mjs'

let inner: Server
let front: Server
let reached: (readonly string[])[] = []
let paths: (string | undefined)[] = []
const folder = mkdtempSync(join(tmpdir(), 'isola-front-'))
const portOf = (server: Server) => (server.address() as AddressInfo).port

beforeAll(async () => {
  inner = createServer((request, response) => {
    reached.push(request.rawHeaders)
    paths.push(request.url)
    request.resume().on('end', () => response.end('read'))
  })
  const socketPath = join(folder, 'worker:0')
  await new Promise<void>((done) => inner.listen(socketPath, done))
  const told = { onReached: () => {}, onUnreachable: () => {} }
  const behind = { target: { socketPath }, triggers: { socketPath } }
  front = await openFront({ host: '127.0.0.1', port: 0, ...behind, ...told })
})
afterAll(() => {
  front.close()
  inner.close()
  rmSync(folder, { recursive: true, force: true })
})

/** What comes back for bytes, until the server closes. */
async function send(...lines: readonly string[]): Promise<string> {
  reached = []
  paths = []
  const socket = connect(portOf(front), '127.0.0.1').setEncoding('latin1')
  socket.write(`${lines.join('\r\n')}`, 'latin1')
  let said = ''
  for await (const text of socket) said += text
  return said
}

it.each([
  ['two hosts', 400, ['GET / HTTP/1.1', 'Host: localhost', 'Host: evil.example', '', '']],
  [
    'a coding that it does not undo',
    501,
    ['POST / HTTP/1.1', 'Host: a', 'Transfer-Encoding: gzip, chunked', '', '3', 'abc', '0', '', ''],
  ],
  ['no Host at all', 400, ['GET / HTTP/1.0', '', '']],
  [
    'an address at another host than it names',
    400,
    ['GET http://evil.example/ HTTP/1.1', 'Host: localhost', 'Connection: close', '', ''],
  ],
  ['a target that is no path', 400, ['OPTIONS * HTTP/1.1', 'Host: a', 'Connection: close', '', '']],
  ['a path that is none', 400, ['GET /\xe4 HTTP/1.1', 'Host: a', 'Connection: close', '', '']],
])('T28: the front server refuses %s with %s', async (_what, status, lines) => {
  expect(await send(...lines)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  expect(reached).toEqual([])
})

it.each([
  'localhost@evil',
  'localhost:18811.evil.example',
  'localhost:99999',
  'localhost:',
  'user:secret@localhost',
  'localhost/path',
  'localhost?x',
  'local host',
  '[::1',
  '[::1].evil.example',
  '::1',
  '',
  'ex%61mple.com',
  '1.2.3.4.5',
])('T28: the front server refuses the Host "%s", which is none', async (host) => {
  const said = await send('GET / HTTP/1.1', `Host: ${host}`, 'Connection: close', '', '')
  expect(said).toMatch(/^HTTP\/1\.1 400 [^]*"code":"invalid_request"/)
  expect(reached).toEqual([])
})

it('T28: the front server keeps headers that are of one connection, by their names', async () => {
  const said = await send(
    'GET / HTTP/1.1',
    'Host: a',
    'Connection: close, X-Foo',
    'x-foo: 1',
    'x-bar: 2',
    '\r\n',
  )
  expect(said).toMatch(/^HTTP\/1\.1 200 /)
  expect(reached[0]).toContain('x-bar')
  expect(reached[0]).not.toContain('x-foo')
})

it('the front server takes a body in chunks', async () => {
  const said = await send(
    'POST / HTTP/1.1',
    'Host: a',
    'Connection: close',
    'Transfer-Encoding: chunked',
    '\r\n3\r\nabc\r\n0\r\n\r\n',
  )
  expect(said).toMatch(/^HTTP\/1\.1 200 /)
})

it.each([
  'localhost:8787',
  '127.0.0.1',
  '[::1]:8787',
  'isola.example.com',
  'my_box.',
  'xn--bcher-kva.example',
])('T28: the front server takes the Host %s', async (host) => {
  const said = await send('GET / HTTP/1.1', `Host: ${host}`, 'Connection: close', '\r\n')
  expect(said).toMatch(/^HTTP\/1\.1 200 /)
})

it('T28: the front server takes an address in the place of a path', async () => {
  const said = await send(
    'GET http://LOCALHOST:8787/a?b=c HTTP/1.1',
    'Host: localhost:8787',
    'Connection: close',
    '\r\n',
  )
  expect(said).toMatch(/^HTTP\/1\.1 200 /)
  expect(paths).toEqual(['/a?b=c'])
})

describe('a cron trigger that is asked for', () => {
  const trigger = '/cdn-cgi/handler/scheduled?cron=*+*+*+*+*'

  it('comes as Miniflare has it, with no header of the client', async () => {
    const said = await send(
      `GET ${trigger} HTTP/1.1`,
      'Host: localhost:8787',
      'MF-Original-URL: http://evil.example/',
      'Connection: close',
      '\r\n',
    )
    expect(said).toMatch(/^HTTP\/1\.1 200 /)
    expect(paths).toEqual(['/cdn-cgi/local/scheduled?cron=*+*+*+*+*'])
    expect(String(reached[0])).not.toContain('evil')
  })

  it.each([
    ['a page of another origin', 'Host: localhost', 'Origin: https://evil.example'],
    ['a picture in a page', 'Host: localhost', 'Sec-Fetch-Site: cross-site'],
    ['a name that was bound anew', 'Host: rebound.example', 'X-Any: 1'],
    ['a name that begins like this machine', 'Host: localhost.evil.example', 'X-Any: 1'],
    ['a page that is sandboxed', 'Host: 127.0.0.1:8787', 'Origin: null'],
  ])('does not come for %s', async (_who, ...lines) => {
    const said = await send(`GET ${trigger} HTTP/1.1`, ...lines, 'Connection: close', '\r\n')
    expect(said).toMatch(/^HTTP\/1\.1 403 [^]*"code":"forbidden"/)
    expect(paths).toEqual([])
  })
})
