import { afterEach, expect, it } from 'vitest'
import { callJson, type Answer } from '../fakes/client.ts'
import { createFakeMcp } from '../fakes/mcp-server.ts'
import { addPlugin, enablePlugin, showPlugin } from '../fakes/plugin-admin.ts'
import { installUpstream } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

const base64 = (bytes: ArrayBuffer) => btoa(String.fromCharCode(...new Uint8Array(bytes)))
const newKey = (principal: string): Promise<Answer> =>
  callJson('/api/operator/keys', { json: { principal, role: 'user' } })
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const newSession = async (key: string): Promise<string> =>
  (await callJson('/api/sessions', { headers: bearer(key), json: {} })).id
/** One run that calls one tool; what it answered. */
async function runIn(session: string, key: string, tool: string, input: object): Promise<string> {
  const calls = [{ name: 'isola__call', input: { name: tool, input } }]
  const { restore } = installUpstream(({ messages }) => {
    const last = messages.at(-1)
    return last?.role === 'tool' ? { text: String(last.content) } : { calls }
  }, elsewhere)
  const json = { task: 'go', wait: true }
  const asked = { headers: bearer(key), json }
  const { result } = await callJson(`/api/sessions/${session}/runs`, asked)
  restore()
  return /all: [\w ]*/.exec(String(result.result))?.[0] ?? String(result.result)
}

/** A server of 2025 that keeps in each of its sessions what was said in it, and in none what was said in another. */
function createStatefulMcp(url: string) {
  const sessions = new Map<string, string[]>()
  const fake = createFakeMcp({
    url,
    era: 'legacy',
    tools: [
      {
        name: 'remember',
        description: 'Remembers, and says all it remembers.',
        inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
        annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
      },
    ],
    more: {
      'tools/call': ({ arguments: input }, { headers }) => {
        const said = sessions.get(headers.get('mcp-session-id') ?? '')
        said?.push(String(Object(input).text))
        return { content: [{ type: 'text', text: `all: ${said?.join(' ')}` }] }
      },
    },
  })
  const answer = async (request: Request): Promise<Response> => {
    const id = request.headers.get('mcp-session-id')
    const isBegun =
      request.method === 'POST' && (await request.clone().text()).includes('"initialize"')
    if (isBegun) fake.state.session = `session-${sessions.size}`
    else if (id !== null && sessions.has(id)) fake.state.session = id
    const response = await fake.answer(request)
    if (isBegun) sessions.set(fake.state.session, [])
    return response
  }
  return { answer, sessions }
}

const server = createStatefulMcp('https://stateful.example.com/mcp')
const elsewhere = (request: Request) => server.answer(request)

async function addServer(): Promise<void> {
  upstream = installUpstream(() => ({ text: 'nothing' }), elsewhere)
  const path = '/api/operator/mcp'
  await callJson(path, { json: { id: 'stateful', url: 'https://stateful.example.com/mcp' } })
  const { listing } = await callJson(`${path}/stateful/look`, { json: {} })
  const json = { hash: listing.hash, confirm: ['remember'] }
  await callJson(`${path}/stateful/approve`, { json })
  await callJson(`${path}/stateful/enable`, { json: {} })
  upstream.restore()
}

/** A plugin that keeps what it hears in a global, signed with a key that the operator trusts. */
async function addTrusted(): Promise<void> {
  const code = `globalThis.kept = []
export default () => ({ tools: { async remember({ text }) { globalThis.kept.push(text); return 'all: ' + globalThis.kept.join(' ') } } })`
  const inputSchema = { type: 'object', properties: { text: { type: 'string' } } }
  const tool = { name: 'remember', description: 'Remembers.', input_schema: inputSchema }
  const manifest = {
    id: 'keeper',
    name: 'Keeper',
    version: '1.0.0',
    entrypoint: 'main.ts',
    description: 'Keeps what it hears.',
    contributes: { tools: [tool] },
  }
  const bundle = { manifest, code, files: {} }
  const pair = (await crypto.subtle.generateKey('Ed25519', true, [
    'sign',
    'verify',
  ])) as CryptoKeyPair
  const key = base64((await crypto.subtle.exportKey('raw', pair.publicKey)) as ArrayBuffer)
  await callJson('/api/operator/trust', { json: { name: 'maker', publicKey: key } })
  // Its hash is what is signed; it is known once it was here.
  const first = await addPlugin(bundle)
  await callJson('/api/operator/plugins/keeper', { method: 'DELETE' })
  const text = new TextEncoder().encode(`isola plugin 1\nkeeper\n${first.plugin.hash}\n`)
  const value = base64(await crypto.subtle.sign('Ed25519', pair.privateKey, text))
  const { plugin } = await addPlugin(bundle, { signature: { key, value } })
  expect(plugin).toMatchObject({ tier: 'trusted' })
  await enablePlugin('keeper')
}

it('N5, N8, T7: of two principals with one trusted plugin and one stateful server nothing crosses', async () => {
  await Promise.all([addServer(), addTrusted()])
  const [alice, bob] = [await newKey('alice'), await newKey('bob')]
  const mine = await newSession(alice.key)
  const theirs = await newSession(bob.key)
  const another = await newSession(alice.key)
  for (const tool of ['keeper__remember', 'stateful__remember']) {
    expect(await runIn(mine, alice.key, tool, { text: 'plum' })).toBe('all: plum')
    expect(await runIn(theirs, bob.key, tool, { text: 'pear' })).toBe('all: pear')
    // What one session tree said is there for it.
    expect(await runIn(mine, alice.key, tool, { text: 'fig' })).toBe('all: plum fig')
    expect(await runIn(theirs, bob.key, tool, { text: 'kiwi' })).toBe('all: pear kiwi')
  }
  // Trusted code may meet itself in another session of the same principal, a server's session may not.
  expect(await runIn(another, alice.key, 'stateful__remember', { text: 'lime' })).toBe('all: lime')
  expect((await showPlugin('keeper')).notes.join()).toContain('for each principal')
})
