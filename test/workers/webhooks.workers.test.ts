import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { callJson, type Answer } from '../fakes/client.ts'
import { addPlugin, callsTool, enablePlugin, pluginBundle } from '../fakes/plugin-admin.ts'
import { installUpstream } from '../fakes/upstream.ts'

// What installed code does with its secrets, in its isolate, through the product itself.

const body =
  'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c'
const slackSeconds = 1_531_420_618
// RFC 8032, 7.1, TEST 2: seed and public key.
const rfcSeed = '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb'
const rfcKey = '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c'
const toBytes = (hex: string) =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
const toHex = (bytes: ArrayBuffer) =>
  [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** As Discord signs, under the key of the RFC. */
async function discord() {
  const pkcs8 = toBytes(`302e020100300506032b657004220420${rfcSeed}`)
  const key = await crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', false, ['sign'])
  const signed = new TextEncoder().encode(`${slackSeconds}{"type":1}`)
  const signature = toHex(await crypto.subtle.sign('Ed25519', key, signed))
  const time = { 'X-Signature-Timestamp': String(slackSeconds) }
  return { body: '{"type":1}', headers: { 'X-Signature-Ed25519': signature, ...time } }
}

/** Secret, and what the service sends; of Slack and GitHub as they publish it. */
const examples = async () => ({
  slack: {
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    body,
    headers: {
      'X-Slack-Signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
      'X-Slack-Request-Timestamp': String(slackSeconds),
    },
  },
  github: {
    secret: "It's a Secret to Everybody",
    body: 'Hello, World!',
    headers: {
      'X-Hub-Signature-256':
        'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    },
  },
  discord: { secret: rfcKey, ...(await discord()) },
  telegram: {
    secret: 'secret-token_1',
    body: '{}',
    headers: { 'X-Telegram-Bot-Api-Secret-Token': 'secret-token_1' },
  },
})

const host = 'api.example.com'
const code = `export default () => ({ tools: {
  async check({ name, headers, body }, { secrets }) { return secrets.verifyRequest(name, { headers, body }) },
  async send({ how }, { secrets, fetch }) {
    const [key, bot] = ['API_KEY', 'BOT'].map((name) => secrets.ref(name))
    const post = (url, headers, body) => fetch('https://${host}' + url, { method: 'POST', headers, body })
    const ways = {
      right: () => post('/bot' + bot + '/send', { 'x-api-key': key }, 'hello'),
      text: () => post('/bot' + bot + '/send?text=' + bot, {}, ''),
      body: () => post('/', { 'x-api-key': key }, JSON.stringify({ text: key })),
      twice: () => post('/', { 'x-api-key': key + ' ' + key }, ''),
      header: () => post('/', { 'x-note': key }, ''),
      path: () => post('/say/' + bot, {}, ''),
    }
    return (await ways[how]()).status
  },
} })`

const patience = { timeout: 60_000, interval: 50 }
let upstream: ReturnType<typeof installUpstream> | undefined
const sent: string[] = []
let session = ''
/** One run of one tool: what it answered. */
async function use(tool: string, input: object): Promise<string> {
  upstream = installUpstream(callsTool(`hooks__${tool}`, input), async (request) => {
    sent.push(`${request.url} ${request.headers.get('x-api-key')} ${await request.text()}`)
    return new Response('')
  })
  session = (await callJson('/api/sessions', { json: {} })).id
  const json = { task: 'go', wait: true }
  const { result } = await callJson(`/api/sessions/${session}/runs`, { json })
  upstream.restore()
  return String(result.result)
}
afterEach(() => {
  upstream?.restore()
  vi.useRealTimers()
})

beforeAll(async () => {
  const all = Object.entries(await examples())
  for (const [name, { secret }] of all)
    await callJson('/api/operator/secrets', { json: { name: name.toUpperCase(), value: secret } })
  for (const name of ['API_KEY', 'BOT'])
    await callJson('/api/operator/secrets', { json: { name, value: `CANARY-${name}` } })
  const input_schema = { type: 'object', additionalProperties: true }
  const tools = ['check', 'send'].map((name) => ({
    name,
    description: `To ${name}.`,
    input_schema,
  }))
  const secrets = [
    ...all.map(([scheme]) => ({ name: scheme.toUpperCase(), in: 'hmac', scheme })),
    { name: 'API_KEY', host, in: 'header', at: 'x-api-key' },
    { name: 'BOT', host, in: 'path', at: '/bot{}' },
  ]
  const grants = { secrets, network: [{ host, methods: ['POST'] }] }
  const { manifest } = pluginBundle('hooks', '', { contributes: { tools }, grants })
  await addPlugin({ manifest, code, files: {} })
  await enablePlugin('hooks')
  // Its results are a stranger's; of that is another test.
  await callJson('/api/operator/policy', { json: { policy: { labels: [] } } })
  return () => callJson('/api/operator/policy', { json: { policy: {} } })
})

describe('installed code that receives webhooks', () => {
  it.each(['slack', 'github', 'discord', 'telegram'] as const)(
    'P24: knows the published example of %s, and not one that is a byte off',
    async (scheme) => {
      const { secret: _kept, ...request } = (await examples())[scheme]
      vi.useFakeTimers({ toFake: ['Date'] })
      vi.setSystemTime(slackSeconds * 1_000)
      const check = (more: object = {}) =>
        use('check', { name: scheme.toUpperCase(), ...request, ...more })
      expect(await check()).toBe('true')
      const [name, value] = Object.entries(request.headers)[0]!
      const off = value.slice(0, -1) + (value.endsWith('1') ? '2' : '1')
      expect(await check({ headers: { ...request.headers, [name]: off } })).toBe('false')
      // Telegram signs nothing: its token is all that it says.
      expect(await check({ body: `${request.body} ` })).toBe(String(scheme === 'telegram'))
    },
  )
})

describe('a token of installed code', () => {
  it('P22, P24: leaves in its own places', async () => {
    expect(await use('send', { how: 'right' })).toBe('200')
    expect(sent.splice(0)).toEqual([`https://${host}/botCANARY-BOT/send CANARY-API_KEY hello`])
  })

  it.each(['text', 'body', 'twice', 'header', 'path'])(
    'P22, P24: is refused before a byte leaves: %s',
    async (how) => {
      expect(await use('send', { how })).toContain('not granted: secret ')
      expect(sent).toEqual([])
      await vi.waitFor(async () => {
        const { records } = await callJson(`/api/operator/audit?session=${session}`)
        const refused = records.filter(({ type }: Answer) => type === 'capability_refused')
        expect(refused).toMatchObject([{ data: { capability: 'secrets' } }])
      }, patience)
    },
  )
})
