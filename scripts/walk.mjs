// npm run walk [-- --json] [-- --paths] [-- --in <folder>]: how many files one message passes, and how many borders
// of rooms.
//
// Serves a copy of the product, whose functions report their entries, as `npm start` serves the product, and asks it
// three things: (a) a chat message whose model calls a tool of an installed plugin, which runs in an isolate and
// fetches once; (b) the tool call of that message alone; (c) the firing of a schedule. The first of each kind warms
// the server.
//
// The precise coverage of an inspector says which functions ran, not which function called them. So the functions
// themselves report (scripts/walk/instrument.ts), each with its call stack, which gives files and borders at once.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startEffectServer, startModelServer } from '../test/fakes/model-server.mjs'
import { root } from './toolchain.mjs'
import { answering, callingTool, count, createPlaces, inIsolates, toSteps } from './walk/measure.ts'
import { printWalks } from './walk/print.mjs'
import { startServer } from './walk/server.mjs'
import { bundleOf, makeTree } from './walk/tree.mjs'

const { values } = parseArgs({
  options: {
    in: { type: 'string', default: root },
    json: { type: 'boolean', default: false },
    paths: { type: 'boolean', default: false },
  },
})

/** Asks for the tool once where the task says so, then answers. */
const script = ({ body: { messages } }) => {
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  const wantsTool = JSON.stringify(messages[asked].content).includes('page')
  const isFirst = messages.slice(asked).every(({ role }) => role !== 'tool')
  return wantsTool && isFirst ? { toolCalls: [{ name: 'walker__read' }] } : { text: 'Done.' }
}

const bundle = ({ origin, host }) => ({
  manifest: {
    id: 'walker',
    name: 'Walker',
    version: '1.0.0',
    entrypoint: 'main.js',
    description: 'Reads one page.',
    contributes: {
      tools: [
        { name: 'read', description: 'Reads the page.', annotations: { readOnlyHint: true } },
      ],
    },
    grants: { network: [{ host, methods: ['GET'] }] },
  },
  code: `export default () => ({ tools: { async read(input, { fetch }) {
    const response = await fetch('${origin}/page')
    return { text: await response.text() }
  } } })`,
  files: {},
})

async function install(server, effects) {
  await server.request('/api/operator/plugins', { body: { bundle: bundle(new URL(effects.url)) } })
  const { hash, asks } = await server.request('/api/operator/plugins/walker')
  await server.request('/api/operator/plugins/walker/grant', {
    body: { hash, permit: asks, texts: true },
  })
  await server.request('/api/operator/plugins/walker/enable', { body: {} })
  const { key } = await server.request('/api/operator/keys', {
    body: { principal: 'walker', role: 'user' },
  })
  return key
}

async function chat(server, effects, key) {
  const before = effects.requests.length
  await server.request('/v1/chat/completions', {
    key,
    body: { model: 'orchestrator', messages: [{ role: 'user', content: 'Read the page.' }] },
  })
  if (effects.requests.length !== before + 1) throw new Error('The tool did not fetch once.')
}

/** A schedule that is due twice, so that its first firing warms the server. @returns What the second one recorded. */
async function fireSchedule(server, model, key) {
  const answers = () => model.requests.filter(({ path }) => path.endsWith('/completions')).length
  const slots = [8, 30].map((seconds) => Date.now() + seconds * 1_000)
  await server.request('/api/schedules', {
    key,
    body: {
      task: 'Say hello.',
      when: { at: slots.map((ms) => new Date(Math.ceil(ms / 1_000) * 1_000).toISOString()) },
    },
  })
  let before = answers()
  await server.record(
    () => {},
    () => answers() > before,
  )
  before = answers()
  return server.record(
    () => {},
    () => answers() > before,
  )
}

const tree = makeTree(values.in)
const [model, effects] = await Promise.all([startModelServer({ script }), startEffectServer()])
let server
try {
  server = await startServer(tree.folder, model.url)
  const key = await install(server, effects)
  await chat(server, effects, key)
  const recordings = {
    chat: await server.record(() => chat(server, effects, key)),
    schedule: await fireSchedule(server, model, key),
  }
  if (model.scriptErrors.length > 0) throw new Error(model.scriptErrors[0])
  const placeOf = createPlaces(bundleOf(tree.folder), join(tree.folder, 'src'))
  const read = (recording) => toSteps(recording, { fileOf: tree.fileOf, placeOf })
  const message = answering(read(recordings.chat))
  const inside = inIsolates(recordings.chat, tree.fileOf)
  printWalks(
    {
      chat: count([...message, ...inside], tree.lines),
      tool: count([...callingTool(message, new URL(effects.url).origin), ...inside], tree.lines),
      schedule: count(read(recordings.schedule), tree.lines),
    },
    values,
  )
} finally {
  await server?.stop()
  await Promise.all([model.close(), effects.close()])
  rmSync(tree.folder, { recursive: true, force: true })
}
