import { exports } from 'cloudflare:workers'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const url = new URL('http://localhost/mcp')
const about = { name: 'test', version: '1' }

/** The Worker under test, over its own `fetch`; a request says which host it means. */
const reach =
  (key: string) =>
  (to: string | URL, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers)
    headers.set('host', 'localhost')
    headers.set('authorization', `Bearer ${key}`)
    return exports.default.fetch(new Request(to, { ...init, headers }))
  }

/** A client of 2026-07-28; with `answer` it can be asked, and answers every form with it. */
export async function connectModern(
  key = 'isk_test_operator_key',
  answer?: Record<string, string>,
): Promise<Client> {
  const client = new Client(about, {
    versionNegotiation: { mode: 'auto' },
    capabilities: answer ? { elicitation: {} } : {},
  })
  if (answer) {
    const given = { action: 'accept' as const, content: answer }
    client.setRequestHandler('elicitation/create', async () => given)
  }
  await client.connect(new StreamableHTTPClientTransport(url, { fetch: reach(key) }))
  return client
}

/** A client of 2025. */
export async function connectLegacy(key = 'isk_test_operator_key'): Promise<ClientV1> {
  const client = new ClientV1(about)
  await client.connect(new TransportV1(url, { fetch: reach(key) }))
  return client
}
