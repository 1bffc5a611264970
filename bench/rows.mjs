// node bench/rows.mjs: what a run writes until its session rests again, exactly. Prints one line a step:
// rows of all objects, alarms set, statements of all objects, rows of D1 with their indexes. Then, as `bill <step>`,
// what the deployment itself has on its record: the same rows, alarms and rows of D1, and the run's price.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from '../scripts/toolchain.mjs'
import { startModelServer } from '../test/fakes/model-server.mjs'
import { createClient } from './load.mjs'
import { reply } from './model-script.mjs'
import { build, makeTempDir, removeTempDir, serve, wranglerConfig } from './serve.mjs'

const steps = {
  first: 'plain 0',
  plain: 'plain 0',
  tool: 'kv 1',
  agent: 'agent 1',
  tools10: 'kv 10',
  // The alarm of every session has come before these two, as it does once a month: its timers have rows since.
  woken: 'plain 0',
  aged: 'plain 0',
}
const key = 'isk_bench'
/** Nothing is put off for longer: the record leaves a second after a run. And no object leaves memory so soon. */
const quietMs = 2_000

/** The counts once the record has come and nothing follows. */
async function countsAfter({ url }, { d1Rows }) {
  for (let last = ''; ;) {
    await sleep(quietMs)
    const text = await (await fetch(`${url}/__bench/counts`)).text()
    const counts = JSON.parse(text)
    if (text === last && counts.d1Rows > d1Rows) return counts
    last = text
  }
}

/** The platform's work by the record, of all principals since the server began. */
async function billed({ url }) {
  const answer = await fetch(`${url}/api/operator/usage?by=session`, {
    headers: { authorization: `Bearer ${key}` },
  })
  const { total } = await answer.json()
  return total
}

const temp = makeTempDir('rows')
const model = await startModelServer({ script: reply })
let server
try {
  const entry = join(root, 'bench', 'counting-worker.ts')
  const { folder } = await build({ entry, config: wranglerConfig, outDir: join(temp, 'worker') })
  const vars = {
    ISOLA_OPERATOR_KEY: key,
    ISOLA_ENV: 'development',
    ISOLA_MODEL: 'openai/bench',
    OPENAI_BASE_URL: model.url,
  }
  server = await serve({ folder, config: wranglerConfig, vars, stateDir: join(temp, 'state') })
  const client = createClient(server.url, { authorization: `Bearer ${key}` })
  await client.run('warm', { task: 'bench agent 1' }) // what a deployment does once
  let after = await countsAfter(server, { d1Rows: 0 })
  let bill = await billed(server)
  for (const [step, task] of Object.entries(steps)) {
    if (step === 'woken') {
      await fetch(`${server.url}/__bench/ring`)
      after = await countsAfter(server, { d1Rows: 0 })
    }
    const before = after
    await client.run('rows', { task: `bench ${task}` })
    after = await countsAfter(server, before)
    const written = ['rows', 'alarms', 'statements', 'd1Rows'].map(
      (what) => after[what] - before[what],
    )
    console.log(`${step} ${written.join(' ')}`)
    const billBefore = bill
    bill = await billed(server)
    const told = ['rowsWritten', 'alarms', 'd1RowsWritten'].map(
      (unit) => (bill.platform[unit] ?? 0) - (billBefore.platform[unit] ?? 0),
    )
    const nanoUsd = Math.round((bill.platformUsd - billBefore.platformUsd) * 1e9)
    console.log(`bill ${[step, ...told, nanoUsd].join(' ')}`)
    if (!process.argv.includes('--where')) continue
    for (const [text, { times, rows }] of Object.entries(after.byStatement)) {
      const then = before.byStatement[text] ?? { times: 0, rows: 0 }
      if (times > then.times) console.log(`  ${times - then.times} × ${rows - then.rows}  ${text}`)
    }
  }
} finally {
  await server?.close()
  await model.close()
  removeTempDir(temp)
}
