// A few faults of every kind in a minute, for `npm test`; `npm run faults` is the whole.
import { buildWorker } from './build.mjs'
import { createCampaign } from './campaign.mjs'
import { lastLine, totalsOf, violationsOf } from './report.mjs'
import { provePersistence, proveSyncIsWatched } from './self-test.mjs'
import { startWorld } from './world.mjs'
import { scenarioNamed } from '../scenarios/index.mjs'

const names = ['tools', 'child', 'queue', 'approval', 'cancel']

const abortAt = (point, position, hit) => [{ role: 'root', point, position, hit, kind: 'abort' }]
/** What has once been wrong, and by which faults it was found. */
const found = [
  ['child-waits', abortAt('kernel/gates#afterHooks.pass.1', 'during', 1)],
  ['children', abortAt('kernel/execute#execute.pass.1', 'settled', 2)],
]

/** @returns The last line as `npm run faults` prints it, and every violation with its reproduction. */
export async function runShort({ seed, faults }) {
  const seen = await proveSyncIsWatched()
  const { text, points } = await buildWorker()
  const world = await startWorld({ text })
  try {
    await provePersistence(world)
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
    const totals = totalsOf(campaign.results)
    return {
      ...totals,
      lastLine: lastLine(totals),
      violations: violationsOf(campaign.results),
      lossesWithoutSync: seen.length,
      processes: world.lives(),
      points: points.length,
    }
  } finally {
    await world.close()
  }
}
