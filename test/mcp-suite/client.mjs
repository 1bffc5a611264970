// The client that the official suite judges: the room's own code (src/mcp), with a memory in place of the object's
// storage. The suite gives the address as the last argument, the scenario and its data in the environment.
import { createHash, randomBytes } from 'node:crypto'
import { createSchemaValidator } from '../../src/runtime/catalog/schema-validator.ts'
import { mcpServerSchema } from '../../src/runtime/catalog/types/mcp.ts'
import { toCallFailure } from '../../src/features/mcp-servers/call-failure.ts'
import { createSealedStore } from '../../src/features/mcp-servers/oauth/sealed-store.ts'
import { createSignIn } from '../../src/features/mcp-servers/oauth/sign-in.ts'
import { createServerLink } from '../../src/features/mcp-servers/server-link.ts'
import { composeOutbound } from '../../src/platform/outbound/compose.ts'
import { systemSources } from '../../src/compose/sources.ts'

const url = process.argv.at(-1)
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ''
const origin = scenario === 'auth/basic-cimd' ? 'https://isola.example' : 'http://localhost:8787'

const kept = new Map()
const store = {
  get: (key) => kept.get(key),
  put: (key, value) => void kept.set(key, structuredClone(value)),
  delete: (key) => void kept.delete(key),
}
const sealing = {
  seal: async (name, value) => ({ name, sealed: value, keyId: '' }),
  open: async ({ sealed }) => sealed,
}
const config = mcpServerSchema.parse({
  id: 'suite',
  url,
  auth: 'oauth',
  allow: { elicitation: scenario.includes('elicitation') || scenario.includes('sep-2322') },
  timeoutMs: 20_000,
  ...(context.client_id && { clientId: context.client_id }),
  ...(context.client_secret && { clientSecret: '${secret:CLIENT_SECRET}' }),
})
const secrets = new Map(context.client_secret ? [['CLIENT_SECRET', context.client_secret]] : [])
const deps = {
  ...systemSources,
  ...composeOutbound({ ...systemSources, config: { isDevelopment: true } }),
  readSecrets: async () => secrets,
  validator: createSchemaValidator(),
  version: '0.1.0',
  redactorOf: () => (text) => text,
  onQuarantined: (what) => console.error('quarantined', what),
  onSignedIn: () => {},
  learn: () => {},
  secret: () => randomBytes(16).toString('hex'),
  // The suite knows only this address of a document about a client; it is never fetched.
  clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
}
const signIn = createSignIn({
  ...deps,
  nowMs: Date.now,
  connectDeps: (given) => link.connectDeps(given),
  storeOf: () =>
    createSealedStore(store, sealing, createHash('sha256').update(url).digest('hex'), () => {}),
})
const link = createServerLink(store, { ...deps, providerOf: (given) => signIn.providerOf(given) })

/** The person agrees to every question, and leaves each default as it is. */
async function asked({ schema }) {
  const properties = Object.entries(schema.properties ?? {})
  const content = properties.flatMap(([name, about]) =>
    about.default === undefined ? [[name, sampleOf(about)]] : [[name, about.default]],
  )
  const answer = { action: 'accept', content: Object.fromEntries(content) }
  return { state: 'answered', answer }
}

const sampleOf = ({ type, enum: values }) =>
  values?.[0] ?? { string: 'text', number: 1, integer: 1, boolean: true }[type] ?? 'text'

/** A person at a browser, who agrees to everything. */
async function login() {
  const begun = await signIn.begin(config, origin)
  if (begun.state === 'signed_in') return
  const answer = await fetch(begun.url, { redirect: 'manual' })
  const location = answer.headers.get('location')
  if (!location) throw new Error(`the authorization server answered ${answer.status}`)
  await signIn.finish(config, new URL(location).search)
  link.renew()
}

/** With a sign-in where one is asked for; more than three in a row are a circle. */
async function signedIn(work, tries = 2) {
  for (let count = 1; ; count += 1) {
    const done = await work().catch((error) => ({ ok: false, error }))
    const { message } =
      done?.error instanceof Error ? toCallFailure(done.error, config) : (done?.error ?? {})
    const text = String(message ?? '')
    const isOpen =
      done?.ok === false &&
      (/signed in|Unauthorized/i.test(text) || done.error?.name === 'UnauthorizedError')
    if (!isOpen || count > tries) {
      if (done?.error && work === look) throw done.error
      return done
    }
    await login()
  }
}

const look = () => link.look(config)
const calls = context.toolCalls ?? []
const listing = await signedIn(look)
const tools = listing.items.filter(({ kind }) => kind === 'tool')
for (const item of tools) {
  const given = calls.filter(({ name }) => name === item.key)
  const inputs = given.length > 0 ? given.map((one) => one.arguments ?? {}) : [inputOf(item)]
  if (calls.length > 0 && given.length === 0) continue
  for (const input of inputs) {
    const call = {
      callId: randomBytes(8).toString('hex'),
      config,
      epoch: 1,
      item,
      ask: { do: 'tool', input },
      idempotencyKey: 'suite',
      traceparent: `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`,
      timeoutMs: 20_000,
    }
    const done = await signedIn(() => link.call(call, { tell: () => {}, asked }))
    console.log(item.key, JSON.stringify(done).slice(0, 300))
  }
}
await link.forget()

/** The least that the schema asks for. */
function inputOf({ definition: { inputSchema } }) {
  const { properties = {}, required = [] } = inputSchema
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => required.includes(name))
      .map(([name, { type }]) => [name, { number: 5, integer: 5, boolean: true }[type] ?? 'text']),
  )
}
