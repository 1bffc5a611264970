import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openFront } from '../../scripts/front.mjs'

let inner: Server
let front: Server
let reached: (readonly string[])[] = []
const portOf = (server: Server) => (server.address() as AddressInfo).port

beforeAll(async () => {
  inner = createServer((request, response) => {
    reached.push(request.rawHeaders)
    request.resume().on('end', () => response.end('read'))
  })
  await new Promise<void>((done) => inner.listen(0, '127.0.0.1', done))
  const target = { host: '127.0.0.1', port: portOf(inner) }
  const told = { onReached: () => {}, onUnreachable: () => {} }
  front = await openFront({ host: '127.0.0.1', port: 0, target, ...told })
})
afterAll(() => {
  front.close()
  inner.close()
})

/** What comes back for bytes, until the server closes. */
async function send(...lines: readonly string[]): Promise<string> {
  reached = []
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
  ['a path that is none', 400, ['GET /\xe4 HTTP/1.1', 'Host: a', 'Connection: close', '', '']],
])('T28: what listens in front refuses %s with %s', async (_what, status, lines) => {
  expect(await send(...lines)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  expect(reached).toEqual([])
})

it('T28: what listens in front keeps headers that are of one connection, by their names', async () => {
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

it('what listens in front takes a body in chunks', async () => {
  const said = await send(
    'POST / HTTP/1.1',
    'Host: a',
    'Connection: close',
    'Transfer-Encoding: chunked',
    '\r\n3\r\nabc\r\n0\r\n\r\n',
  )
  expect(said).toMatch(/^HTTP\/1\.1 200 /)
})
