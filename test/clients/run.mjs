// npm run clients: real client packages against a local server with a scripted model behind it. Installs the
// packages (pinned below) into a folder of their own, which is kept for the next time. Not part of CI: they are many.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, toolEnv, toolNode } from '../../scripts/toolchain.mjs'
import { startModelServer } from '../fakes/model-server.mjs'
import { buildWorker, operatorKey, startServer } from '../faults/local-server.mjs'
import { install } from './install.mjs'

const packages = {
  '@ai-sdk/openai': '4.0.118',
  '@ai-sdk/openai-compatible': '3.0.92',
  '@langchain/core': '1.4.0',
  '@langchain/openai': '1.6.0',
  '@openai/agents': '0.20.0',
  ai: '7.0.173',
  openai: '7.55.0',
  openai6: 'npm:openai@6.49.0',
  zod: '4.6.7',
}

const folder = install('isola-clients', packages, 'openai6')
copyFileSync(join(root, 'test', 'clients', 'round-trips.mjs'), join(folder, 'round-trips.mjs'))

/** Calls the client's tool for a question, then repeats what the tool said. */
function script({ body }) {
  const last = body.messages.at(-1)
  if (last.role === 'tool') return { text: `It says: ${JSON.stringify(last.content)}` }
  const weather = body.tools?.find(({ function: tool }) => tool.name === 'get_weather')
  return weather
    ? { toolCalls: [{ name: 'get_weather', arguments: { city: 'Oslo' } }] }
    : { text: 'Hello' }
}

const model = await startModelServer({ script })
const built = mkdtempSync(join(tmpdir(), 'isola-build-'))
await buildWorker(join(built, 'worker'))
const vars = {
  OPENAI_BASE_URL: model.url,
  OPENAI_API_KEY: 'scripted',
  ISOLA_MODEL: 'openai/scripted',
}
const server = await startServer({ folder: join(built, 'worker'), vars })
try {
  const client = spawn(toolNode(), [join(folder, 'round-trips.mjs')], {
    cwd: folder,
    env: { ...toolEnv(), ISOLA_URL: server.url, ISOLA_KEY: operatorKey },
    stdio: 'inherit',
    timeout: 180_000,
  })
  const [code] = await once(client, 'exit')
  process.exitCode = code ?? 1
} finally {
  await server.close()
  await model.close()
}
