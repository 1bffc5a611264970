import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { startModelServer } from '../../test/fakes/model-server.mjs'
import { reply as benchReply } from '../model-script.mjs'
import { makeTempDir, removeTempDir } from '../serve.mjs'
import type { Caller } from './cells.ts'
import { sendJson } from './client.ts'
import { distancesAt } from './record.ts'
import { buildFar, serveApart, serveTogether, type FarServer } from './serve.ts'
import { signIn } from './sign-in.ts'

const operatorKey = 'isk_bench'

export interface FarDeployment {
  readonly keys: Readonly<Record<Caller, string>>
  /** A new process over a copy of the deployment's state. */
  readonly start: (farMs: number) => Promise<FarServer>
  readonly close: () => Promise<void>
}

/** A deployment with a key of each kind and an installed plugin, made without distances. */
export async function prepare(checkout: string): Promise<FarDeployment> {
  const temp = makeTempDir('distance')
  const model = await startModelServer({ script: reply })
  const close = async () => {
    await model.close()
    removeTempDir(temp)
  }
  try {
    const folder = await buildFar(checkout, join(temp, 'worker'))
    const vars = {
      ISOLA_OPERATOR_KEY: operatorKey,
      ISOLA_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      ISOLA_ENV: 'development',
      ISOLA_MODEL: 'openai/bench',
      OPENAI_BASE_URL: model.url,
    }
    const options = (stateDir: string, farMs: number) => ({
      checkout,
      folder,
      stateDir,
      vars,
      distances: distancesAt(farMs),
    })
    const first = join(temp, 'state')
    const server = await serveTogether(options(first, 0))
    const keys = await fill(server.url)
    await server.close()
    let started = 0
    const start = (farMs: number) => {
      const stateDir = join(temp, `state-${(started += 1)}`)
      cpSync(first, stateDir, { recursive: true })
      return serveApart(options(stateDir, farMs))
    }
    return { keys, start, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function fill(url: string): Promise<Record<Caller, string>> {
  const ask = (path: string, json?: object) =>
    sendJson(`${url}${path}`, { key: operatorKey, ...(json && { json }) })
  const keyOf = async (more: object) =>
    String((await ask('/api/operator/keys', { role: 'user', ...more }))['key'])
  const user = await keyOf({ principal: 'ada' })
  const limited = await keyOf({ principal: 'bob', limits: { dailyTokens: 50_000_000 } })
  const oauth = await signIn(url, await keyOf({ principal: 'eve' }))
  await install(ask)
  return { operator: operatorKey, user, limited, oauth }
}

const plugin = 'far'

/** An installed plugin, whose code runs in an isolate of its own; its tool stands in the orchestrator's list. */
async function install(ask: (path: string, json?: object) => Promise<Record<string, unknown>>) {
  const manifest = {
    id: plugin,
    name: 'Far',
    version: '1.0.0',
    description: 'Says what it is told.',
    entrypoint: 'main.js',
    contributes: {
      tools: [{ name: 'echo', description: 'Says it.', input_schema: { type: 'object' } }],
    },
  }
  const code = 'export default () => ({ tools: { echo: async (input) => input } })'
  await ask('/api/operator/plugins', { bundle: { manifest, files: {}, code } })
  const { hash, asks } = await ask(`/api/operator/plugins/${plugin}`)
  await ask(`/api/operator/plugins/${plugin}/grant`, { hash, permit: asks, texts: true })
  await ask(`/api/operator/plugins/${plugin}/enable`, {})
  const pinned = ['files__read', 'kv__get', 'code-reviewer__run', `${plugin}__echo`]
  await ask('/api/operator/policy', { policy: { pinned } })
}

type Request = Parameters<typeof benchReply>[0]
/** The bench's script, and one call of the installed plugin. */
function reply(request: Request) {
  const { messages } = request.body
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  const isFar = JSON.stringify(messages[asked]).includes(`bench ${plugin} 1`)
  if (isFar && !messages.slice(asked).some(({ role }) => role === 'tool'))
    return { toolCalls: [{ name: `${plugin}__echo`, arguments: { text: 'hello' } }] }
  return benchReply(request)
}
