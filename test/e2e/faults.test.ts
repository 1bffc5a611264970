import { expect, it } from 'vitest'
import { runShort } from '../faults/lib/short.mjs'
import { isNightly } from '../setup/nightly.ts'

const seed = 7
const faults = isNightly ? 30 : 10

it('G1, F6: loses, doubles and forgets nothing, wherever the run path is struck', async () => {
  const report = await runShort({ seed, faults })
  console.log(report.lastLine)
  // First of all it sees what it is meant to see.
  expect(report.lossesWithoutSync).toBeGreaterThan(0)
  expect(report.processes).toBeGreaterThan(2)
  expect(report.faults).toBeGreaterThanOrEqual(faults)
  expect(report.violations).toEqual([])
  // Every await of the run path is struck by the whole campaign, or says why not.
  expect(report.uncovered).toEqual([])
})
