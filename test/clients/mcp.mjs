// npm run mcp-clients [-- sdks|programs|skills|remote …]: real MCP clients against a local server, with a key and signed in over OAuth: each lists tools
// and calls one. And the other way: the reference server of the MCP project as a remote server, its tools, resources and
// prompts called from a chat. Installs the packages (pinned below) into a folder of its own. Not part of CI.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { toolEnv, toolNode } from '../../scripts/toolchain.mjs'
import { consent } from '../mcp-suite/authorization.mjs'
import { freePort, startLocalServer } from '../mcp-suite/server.mjs'
import { install } from './install.mjs'
import { checkSkills } from './skills.mjs'

const packages = {
  '@ai-sdk/mcp': '2.0.99',
  '@modelcontextprotocol/client': '2.4.0',
  '@modelcontextprotocol/inspector': '2.12.0',
  '@modelcontextprotocol/sdk': '1.32.2',
  '@modelcontextprotocol/server-everything': '2026.8.31',
  'mcp-remote': '0.15.1',
  mcporter: '0.12.3',
  skills: '1.7.4',
}
const patienceMs = 60_000

const folder = install('isola-mcp-clients', packages, 'mcporter')
const bin = (name) => join(folder, 'node_modules', '.bin', name)
const { resolve } = createRequire(join(folder, 'index.js'))
const load = (name) => import(pathToFileURL(resolve(name)).href)

const results = []
async function check(name, work) {
  try {
    await work()
    results.push(true)
    console.log(`ok    ${name}`)
  } catch (error) {
    results.push(false)
    console.log(`FAIL  ${name}: ${String(error?.stack ?? error).slice(0, 2_000)}`)
  }
}

function expectTool(said) {
  if (!/kv__get/.test(said)) throw new Error(`no kv__get in: ${said.slice(-1_500)}`)
}

/** Runs a program; opens each address of our consent page that it prints, as a person at a browser would. */
function runProgram(args, { server, isDone = () => false, env = {}, cwd = folder }) {
  const { promise, resolve: end } = Promise.withResolvers()
  const child = spawn(toolNode(), args, {
    cwd,
    env: { ...toolEnv(), BROWSER: 'true', ...env },
    // One of them takes the end of its input for the end of the call.
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let said = ''
  const opened = new Set()
  const take = (chunk) => {
    said += chunk
    for (const [page] of said.matchAll(/http:\/\/127\.0\.0\.1:\d+\/authorize\?\S+(?=\s)/g)) {
      if (opened.has(page)) continue
      opened.add(page)
      consent(page, server.key)
        .then((location) => fetch(location))
        .catch((error) => (said += `\nbrowser: ${error.message}`))
    }
    if (isDone(said)) child.kill()
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  const timer = setTimeout(() => child.kill(), patienceMs)
  child.once('exit', () => {
    clearTimeout(timer)
    end(said)
  })
  return promise
}

/** A memory for an SDK's sign-in; the consent page it redirects to is agreed to. */
function createProvider({ key }) {
  const kept = {}
  return {
    redirectUrl: 'http://127.0.0.1:33418/callback',
    clientMetadata: {
      client_name: 'A client by hand',
      redirect_uris: ['http://127.0.0.1:33418/callback'],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    state: () => 'a-state-of-this-client',
    saveState: () => {},
    async redirectToAuthorization(page) {
      kept.answer = new URL(await consent(String(page), key)).searchParams
    },
    answer: () => kept.answer,
  }
}

/** Connects; if the server wants a sign-in, signs in and connects again. */
async function connectWith({ Client, Transport, options, url, provider }) {
  const attempt = async (isSecond) => {
    const client = new Client({ name: 'by-hand', version: '1' }, options)
    const transport = new Transport(url, { authProvider: provider })
    try {
      await client.connect(transport)
      return client
    } catch (error) {
      if (isSecond || !provider.answer()) throw error
      const answer = provider.answer()
      // The newer one also checks the issuer that came back.
      await transport.finishAuth(answer.get('code'), answer.get('iss') ?? undefined)
      return attempt(true)
    }
  }
  return attempt(false)
}

async function callKv(client) {
  expectTool(JSON.stringify(await client.listTools()))
  const done = await client.callTool({ name: 'kv__set', arguments: { key: 'seen', value: 1 } })
  if (done.isError) throw new Error(JSON.stringify(done))
  await client.close()
}

async function checkSdks(server) {
  const url = new URL(`${server.url}/mcp`)
  const v1 = {
    Client: (await load('@modelcontextprotocol/sdk/client/index.js')).Client,
    Transport: (await load('@modelcontextprotocol/sdk/client/streamableHttp.js'))
      .StreamableHTTPClientTransport,
  }
  const library = await load('@modelcontextprotocol/client')
  const v2 = {
    Client: library.Client,
    Transport: library.StreamableHTTPClientTransport,
    options: { versionNegotiation: { mode: 'auto' } },
  }
  for (const [name, { Client, Transport, options }] of [
    ['SDK v1', v1],
    ['SDK v2', v2],
  ]) {
    await check(`${name}, key`, async () => {
      const client = new Client({ name: 'by-hand', version: '1' }, options)
      const headers = { authorization: `Bearer ${server.key}` }
      await client.connect(new Transport(url, { requestInit: { headers } }))
      await callKv(client)
    })
    await check(`${name}, OAuth`, async () => {
      const provider = createProvider(server)
      await callKv(await connectWith({ Client, Transport, options, url, provider }))
    })
  }
  const {
    createMCPClient,
    experimental_createMCPClient: experimental,
    auth,
  } = await load('@ai-sdk/mcp')
  const create = createMCPClient ?? experimental
  const useTools = async (client) => {
    const tools = await client.tools()
    expectTool(Object.keys(tools).join())
    const done = await tools.kv__set.execute(
      { key: 'seen', value: 2 },
      { toolCallId: 'c', messages: [] },
    )
    if (done?.isError) throw new Error(JSON.stringify(done))
    await client.close()
  }
  await check('@ai-sdk/mcp, key', async () => {
    const headers = { authorization: `Bearer ${server.key}` }
    await useTools(await create({ transport: { type: 'http', url: url.href, headers } }))
  })
  await check('@ai-sdk/mcp, OAuth', async () => {
    const provider = createProvider(server)
    const transport = { type: 'http', url: url.href, authProvider: provider }
    const client = await create({ transport }).catch(async (error) => {
      const answer = provider.answer()
      if (!answer || !auth) throw error
      await auth(provider, {
        serverUrl: url.href,
        authorizationCode: answer.get('code'),
        callbackState: answer.get('state') ?? undefined,
      })
      return create({ transport })
    })
    await useTools(client)
  })
}

async function checkPrograms(server) {
  const url = `${server.url}/mcp`
  const bearer = `Authorization: Bearer ${server.key}`
  const inspect = (era, more) => [
    bin('mcp-inspector'),
    '--cli',
    url,
    '--transport',
    'http',
    '--protocol-era',
    era,
    ...more,
  ]
  const env = { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'memory' }
  for (const era of ['legacy', 'auto', 'modern']) {
    await check(`Inspector, ${era}, key`, async () => {
      expectTool(
        await runProgram(inspect(era, ['--header', bearer, '--method', 'tools/list']), {
          server,
          env,
        }),
      )
      const input = [
        '--method',
        'tools/call',
        '--tool-name',
        'kv__set',
        '--tool-args-json',
        '{"key":"seen","value":3}',
      ]
      const said = await runProgram(inspect(era, ['--header', bearer, ...input]), { server, env })
      if (/isError"?: ?true|rror:/.test(said)) throw new Error(said.slice(-1_000))
    })
    await check(`Inspector, ${era}, OAuth`, async () =>
      expectTool(await runProgram(inspect(era, ['--method', 'tools/list']), { server, env })),
    )
  }
  const config = mkdtempSync(join(tmpdir(), 'isola-mcp-remote-'))
  const remote = (more) => [bin('mcp-remote-client'), url, '--allow-http', ...more]
  const options = {
    server,
    env: { MCP_REMOTE_CONFIG_DIR: config },
    isDone: (said) => /kv__get/.test(said),
  }
  await check('mcp-remote, key', async () =>
    expectTool(await runProgram(remote(['--header', bearer]), options)),
  )
  rmSync(config, { recursive: true, force: true })
  await check('mcp-remote, OAuth', async () => expectTool(await runProgram(remote([]), options)))
  rmSync(config, { recursive: true, force: true })
  const file = join(folder, 'mcporter.json')
  writeFileSync(
    file,
    JSON.stringify({
      mcpServers: { isola: { url, headers: { authorization: `Bearer ${server.key}` } } },
    }),
  )
  await check('mcporter, key', async () => {
    expectTool(
      await runProgram([bin('mcporter'), '--config', file, 'list', 'isola', '--json'], { server }),
    )
    const args = ['call', 'isola.kv__set', '--args', '{"key":"seen","value":4}']
    const said = await runProgram([bin('mcporter'), '--config', file, ...args], { server })
    if (/rror/.test(said)) throw new Error(said.slice(-1_000))
  })
  const home = mkdtempSync(join(tmpdir(), 'isola-mcporter-'))
  const signedIn = { mcpServers: { isola: { url, auth: 'oauth', tokenCacheDir: home } } }
  writeFileSync(file, JSON.stringify(signedIn))
  await check('mcporter, OAuth', async () => {
    const options = { server, env: { HOME: home } }
    await runProgram([bin('mcporter'), '--config', file, 'auth', 'isola'], options)
    expectTool(
      await runProgram([bin('mcporter'), '--config', file, 'list', 'isola', '--json'], options),
    )
  })
  rmSync(home, { recursive: true, force: true })
  rmSync(file)
}

/** The reference server over Streamable HTTP. */
async function startEverything() {
  const port = await freePort()
  const child = spawn(toolNode(), [bin('mcp-server-everything'), 'streamableHttp'], {
    cwd: folder,
    env: { ...toolEnv(), PORT: String(port) },
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  const url = `http://127.0.0.1:${port}/mcp`
  for (let tries = 0; tries < 100; tries += 1) {
    const isUp = await fetch(url, { method: 'GET' }).then(
      () => true,
      () => false,
    )
    if (isUp) break
    await new Promise((wake) => setTimeout(wake, 100))
  }
  return { url, stop: () => child.kill() }
}

async function checkRemote(server) {
  const api = async (path, json) => {
    const response = await fetch(`${server.url}${path}`, {
      method: json ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
      ...(json && { body: JSON.stringify(json) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }
  const everything = await startEverything()
  const change = (what, json = {}) => api(`/api/operator/mcp/everything/${what}`, json)
  const chat = async (task) => {
    const answer = await api('/v1/chat/completions', {
      model: 'orchestrator',
      messages: [{ role: 'user', content: task }],
    })
    return answer.choices[0].message.content
  }
  try {
    await check('server-everything: looked at, approved, enabled', async () => {
      await api('/api/operator/mcp', { id: 'everything', url: everything.url })
      const { listing } = await change('look')
      const kinds = new Set(listing.items.map(({ kind }) => kind))
      for (const kind of ['tool', 'resource', 'prompt'])
        if (!kinds.has(kind)) throw new Error(`no ${kind} in ${[...kinds]}`)
      await change('approve', { hash: listing.hash, harmless: ['*'] })
      await change('enable')
    })
    for (const [what, task, expected] of [
      ['tool', 'Use everything__echo with message "hello from far".', /hello from far/],
      [
        'resource',
        'Use everything__read_resource with uri "demo://resource/static/document/architecture.md".',
        /./,
      ],
      ['prompt', 'Use everything__get_prompt with name "simple-prompt".', /prompt/i],
    ])
      await check(`server-everything: a ${what} from a chat`, async () => {
        const said = await chat(task)
        console.log(`      ${said.replace(/\s+/g, ' ').slice(0, 160)}`)
        if (!expected.test(said) || /not call|No installed tool|failed/.test(said))
          throw new Error(said)
      })
    await checkAsking(api, everything)
  } finally {
    everything.stop()
  }
}

/** The same server once more, allowed to ask: a person, who answers, and a model. */
async function checkAsking(api, everything) {
  const at = (what, json = {}) => api(`/api/operator/mcp/asking/${what}`, json)
  await check('server-everything: allowed to ask, it offers more', async () => {
    const allow = { elicitation: true, sampling: { maxTokens: 2_000 } }
    await api('/api/operator/mcp', { id: 'asking', url: everything.url, allow })
    // It adds these tools a moment after it was told what its client can do.
    for (let tries = 0; ; tries += 1) {
      const { listing } = await at('look')
      if (listing.items.some(({ key }) => key === 'trigger-elicitation-request')) {
        await at('approve', { hash: listing.hash, harmless: ['*'] })
        break
      }
      if (tries === 20) throw new Error(listing.items.map(({ key }) => key).join(' '))
      await new Promise((wake) => setTimeout(wake, 250))
    }
    await at('enable')
  })
  const begin = async (task) => {
    const { id: session } = await api('/api/sessions', {})
    const { run } = await api(`/api/sessions/${session}/runs`, { task })
    const of = `/api/sessions/${session}/runs/${run}`
    const over = async () => {
      for (let tries = 0; tries < 200; tries += 1) {
        const view = await api(of)
        if (view.state !== 'running') return view
        await new Promise((wake) => setTimeout(wake, 100))
      }
      throw new Error('It runs and runs.')
    }
    return { of, over }
  }
  await check('server-everything: asks a person, and goes on with the answer', async () => {
    const { of, over } = await begin('Use asking__trigger-elicitation-request.')
    const { state, pauses, result } = await over()
    if (state !== 'parked') throw new Error(`${state}: ${JSON.stringify(result)}`)
    const [{ call, asks, asksHash }] = pauses
    const [[key, { message }]] = Object.entries(asks)
    console.log(`      ${message}`)
    if (!message.startsWith('The MCP server "asking" (127.0.0.1')) throw new Error(message)
    const output = { [key]: { action: 'accept', content: { name: 'Ann', check: true } } }
    await api(`${of}/decisions`, { call, decision: 'result', output, asksHash })
    const done = await over()
    console.log(`      ${String(done.result?.result).replace(/\s+/g, ' ').slice(0, 160)}`)
    if (done.state !== 'completed' || !/Ann/.test(done.result.result))
      throw new Error(JSON.stringify(done).slice(0, 1_000))
  })
  await check('server-everything: asks a model, within its tokens', async () => {
    const { over } = await begin('Use asking__trigger-sampling-request with prompt "Say hello".')
    const done = await over()
    console.log(`      ${String(done.result?.result).replace(/\s+/g, ' ').slice(0, 160)}`)
    if (done.state !== 'completed' || /failed|not call/.test(done.result.result))
      throw new Error(JSON.stringify(done).slice(0, 1_000))
  })
}

const server = await startLocalServer()
try {
  const exposed = { agents: ['orchestrator'], tools: ['kv__*'] }
  const response = await fetch(`${server.url}/api/operator/exposed`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ exposed }),
  })
  if (!response.ok) throw new Error(await response.text())
  const skills = () => checkSkills({ server, check, runProgram, bin })
  const parts = { sdks: checkSdks, programs: checkPrograms, skills, remote: checkRemote }
  const chosen = process.argv.slice(2)
  for (const [name, part] of Object.entries(parts))
    if (chosen.length === 0 || chosen.includes(name)) await part(server)
} finally {
  await server.stop()
}
const passed = results.filter(Boolean).length
console.log(`${passed} passed, ${results.length - passed} failed`)
process.exit(passed === results.length ? 0 : 1)
