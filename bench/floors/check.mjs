// node bench/floors/check.mjs: what the floors promise. The journal floor writes so many rows, and goes on after a
// kill.
import { join } from 'node:path'
import { root } from '../../scripts/toolchain.mjs'
import { startModelServer } from '../../test/fakes/model-server.mjs'
import { createClient } from '../load.mjs'
import { reply } from '../model-script.mjs'
import { children } from '../processes.mjs'
import { build, makeTempDir, removeTempDir, serve } from '../serve.mjs'

/**
 * Rows of a new session's first run, a plain run, one with ten tools in turn, one with a sub-agent that calls a tool.
 */
const promised = '4 2 12 8'
const killAfterCalls = 6

const temp = makeTempDir('floors')
const config = join(root, 'bench', 'floors', 'floors.toml')
const entry = join(root, 'bench', 'floors', 'floor-worker.ts')
let failed = 0
const say = (isWell, text) => {
  if (!isWell) failed += 1
  console.log(`${isWell ? 'ok  ' : 'FAIL'} ${text}`)
}

async function start(folder, model, state) {
  const before = new Set(children())
  const vars = { OPENAI_BASE_URL: model.url, JOURNAL: '1' }
  const server = await serve({ folder, config, vars, stateDir: join(temp, state) })
  const pids = children().filter((pid) => !before.has(pid))
  return { ...server, pids, client: createClient(server.url, {}) }
}

async function checkRows(folder, model) {
  const server = await start(folder, model, 'rows')
  const rows = []
  for (const task of ['plain 0', 'plain 0', 'kv 10', 'agent 1']) {
    const count = async () => (await (await fetch(`${server.url}/__bench/counts`)).json()).rows
    const before = await count()
    await server.client.run('rows', { task: `bench ${task}` })
    rows.push((await count()) - before)
  }
  await server.close()
  say(rows.join(' ') === promised, `rows ${rows.join(' ')}, promised ${promised}`)
}

/** Kills the process within a run of ten tools; the same request after a new start must finish that run. */
async function checkKill(folder, model) {
  const first = await start(folder, model, 'kill')
  const asked = []
  let kill
  const killed = new Promise((resolve) => (kill = resolve))
  model.script(({ body }) => {
    asked.push(body.messages.length)
    if (asked.length !== killAfterCalls) return reply({ body })
    for (const pid of first.pids) process.kill(pid, 'SIGKILL')
    kill()
    return { stall: true }
  })
  const task = { task: 'bench kv 10' }
  const cut = first.client.run('kill', task).catch(() => 'cut')
  await killed
  say((await cut) === 'cut', `killed while model call ${killAfterCalls} was under way`)
  await first.close().catch(() => undefined)

  const second = await start(folder, model, 'kill')
  const { text } = await second.client.run('kill', task)
  await second.close()
  say(text.includes('The bench says'), 'the same request after a new start ends the run')
  // The call that was cut is made again and no other: each sees a message pair more than the one before.
  const again = asked[killAfterCalls]
  say(again === asked[killAfterCalls - 1], `it goes on at message ${again}, where it was cut`)
  say(asked.length === 12, `model calls ${asked.length}: eleven, and the one that was cut`)
}

const model = await startModelServer({ script: reply })
try {
  const { folder } = await build({ entry, config, outDir: join(temp, 'worker') })
  await checkRows(folder, model)
  await checkKill(folder, model)
} finally {
  await model.close()
  removeTempDir(temp)
}
console.log(failed === 0 ? 'floors hold' : `floors: ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
