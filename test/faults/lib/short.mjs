// Every scenario once without a fault, then a few faults of every kind, for `npm test`; `npm run faults` is the whole.
import { chance, exempt } from '../exempt.mjs'
import { buildWorker } from './build.mjs'
import { createCampaign } from './campaign.mjs'
import { coverageFaults, lastLine, totalsOf, violationsOf } from './report.mjs'
import { provePersistence, proveSyncIsWatched } from './self-test.mjs'
import { startWorld } from './world.mjs'
import { scenarioNamed, scenarios } from '../scenarios/index.mjs'

const names = ['tools', 'child', 'queue', 'approval', 'cancel']

const abortAt = (point, position, hit) => [{ role: 'root', point, position, hit, kind: 'abort' }]
/** What has once been wrong, and by which faults it was found. */
const found = [
  ['child-waits', abortAt('runtime/kernel/gates#afterHooks.pass.1', 'during', 1)],
  ['children', abortAt('runtime/kernel/execute#execute.pass.1', 'settled', 2)],
]

/** @returns The last line as `npm run faults` prints it, and every violation with its reproduction. */
export async function runShort({ seed, faults }) {
  const seen = await proveSyncIsWatched()
  const { text, points } = await buildWorker()
  const world = await startWorld({ text })
  try {
    await provePersistence(world)
    // As the whole campaign begins: whatever makes that red before its first fault is red here.
    const whole = createCampaign(world, { scenarios, seed: seed + 1, primers: 0 })
    await whole.recordAll()
    const campaign = createCampaign(world, {
      scenarios: names.map(scenarioNamed),
      seed,
      primers: 1,
    })
    await campaign.recordAll()
    await Promise.all(
      found.map(([name, struck]) =>
        campaign.trial({ scenario: scenarioNamed(name), faults: struck }),
      ),
    )
    await campaign.strikeAll(faults, ['abort', 'reset', 'exit'])
    const results = [...whole.results, ...campaign.results]
    const totals = totalsOf(results)
    return {
      ...totals,
      lastLine: lastLine(totals),
      violations: violationsOf(results),
      uncovered: coverageFaults({ points, places: whole.places().keys(), exempt, chance }),
      lossesWithoutSync: seen.length,
      processes: world.lives(),
      points: points.length,
    }
  } finally {
    await world.close()
  }
}
