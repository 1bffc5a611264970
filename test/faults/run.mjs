// npm run faults [-- --seed N --faults N --only <text> --kind abort|reset|exit|evict --skip <scenario,…> --product <folder>]
// npm run faults -- --trial '{"scenario":…,"faults":[…]}' [--times N]
//
// Strikes the run path at every await, in every way, and judges what is left: nothing acknowledged lost, nothing
// done twice, nothing stuck. A read wakes its object, so whether a run ended by itself is read in the audit log,
// which is another database.
import { parseArgs } from 'node:util'
import { chance, exempt } from './exempt.mjs'
import { buildWorker, root } from './lib/build.mjs'
import { createCampaign } from './lib/campaign.mjs'
import { coverageFaults, endsOf, lastLine, tableOf, totalsOf, violationsOf } from './lib/report.mjs'
import { proveSyncIsWatched, provePersistence } from './lib/self-test.mjs'
import { sleep, startWorld } from './lib/world.mjs'
import { scenarioNamed, scenarios } from './scenarios/index.mjs'

const allKinds = ['abort', 'reset', 'exit', 'evict']
const progressEveryMs = 15_000
/** It asks after one to two rounds (composition.ts). */
const ledgerWithinMs = 120_000

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    faults: { type: 'string', default: '2100' },
    skip: { type: 'string', default: '' },
    only: { type: 'string', default: '' },
    kind: { type: 'string' },
    product: { type: 'string', default: root },
    trial: { type: 'string' },
    times: { type: 'string', default: '5' },
  },
})
const seed = Number(values.seed)
const { product } = values
const startedMs = Date.now()
const seconds = () => Math.round((Date.now() - startedMs) / 1_000)
const say = (text) => console.log(`[${seconds()} s] ${text}`)

const { text, points } = await buildWorker({ product })
const awaits = points.filter((point) => !point.includes('.then.')).length
say(
  `seed ${seed}; ${points.length} failpoints in src/context, src/kernel, src/leases and src/sessions: ${awaits} awaits, ${points.length - awaits} callbacks`,
)
process.exitCode = values.trial === undefined ? await runCampaign() : await runOnce()

async function runCampaign() {
  const seen = await proveSyncIsWatched(product)
  say(`self-test: without storage.sync() ${seen.length} losses are seen, such as: ${seen[0]}`)
  const world = await startWorld({ text, product })
  const campaign = createCampaign(world, {
    scenarios: scenarios.filter(({ name }) => !values.skip.split(',').includes(name)),
    seed,
    only: values.only,
    onTrial({ problems: [first], scenario, session }) {
      if (first) say(`${first.kind.toUpperCase()} ${scenario} ${session}: ${first.what}`)
    },
  })
  const progress = setInterval(() => say(lastLine(totalsOf(campaign.results))), progressEveryMs)
  try {
    await provePersistence(world)
    say('self-test: what was acknowledged is there after SIGKILL')
    await campaign.recordAll()
    const places = campaign.places()
    const uncovered = coverageFaults({ points, places: places.keys(), exempt, chance })
    say(`recorded: ${places.size} places of ${points.length} failpoints to strike`)
    for (const line of uncovered) say(`wrong: ${line}`)
    // Faults that were injected while recording count too.
    const left = Number(values.faults) - totalsOf(campaign.results).faults
    await campaign.strikeAll(Math.max(1, left), values.kind ? [values.kind] : allKinds)
    const leaks = await ledgerLeaks(world)
    return report(campaign.results, [...uncovered, ...leaks], world)
  } finally {
    clearInterval(progress)
    await world.close()
  }
}

/** When nothing runs any more, nothing is reserved: the day's ledger asks its sessions what became of their runs. */
async function ledgerLeaks(world) {
  const sinceMs = Date.now()
  for (;;) {
    const response = await world.request('/api/operator/usage').catch(() => undefined)
    const { reserved, openRuns, settled } = response?.ok ? await response.json() : {}
    if (openRuns === 0 && reserved.tokens === 0) {
      say(`the day's ledger: nothing reserved, ${settled.tokens} tokens settled`)
      return []
    }
    if (Date.now() > sinceMs + ledgerWithinMs)
      return [`${openRuns} runs still hold ${reserved?.tokens} tokens of the day`]
    await sleep(1_000)
  }
}

function report(results, faults, world) {
  const totals = totalsOf(results)
  console.log(`\n${tableOf(results, points)}\n`)
  say(
    `${results.length} sessions, ${world.lives()} processes, ${world.deaths()} of them died by themselves; runs ended: ${endsOf(results)}`,
  )
  for (const [name, reason] of Object.entries({ ...exempt, ...chance }))
    console.log(`exempt: ${name}: ${reason}`)
  for (const violation of violationsOf(results)) console.log(`\n${violation}`)
  for (const line of faults) console.log(`wrong: ${line}`)
  console.log(lastLine(totals))
  return totals.lost + totals.doubled + totals.stuck + faults.length > 0 ? 1 : 0
}

/** One violation again, so many times. */
async function runOnce() {
  const { scenario, faults } = JSON.parse(values.trial)
  const world = await startWorld({ text, product })
  try {
    const campaign = createCampaign(world, { scenarios, seed })
    for (let time = 0; time < Number(values.times); time += 1) {
      const { problems, struck, states } = await campaign.trial({
        scenario: scenarioNamed(scenario),
        faults,
      })
      say(`${struck.length} struck; ${states.join(', ')}`)
      for (const { kind, what } of problems) console.log(`  ${kind}: ${what}`)
    }
    console.log(lastLine(totalsOf(campaign.results)))
    return campaign.results.some(({ problems }) => problems.length > 0) ? 1 : 0
  } finally {
    await world.close()
  }
}
