import { expect, it } from 'vitest'
import { linesAbove, linesBelow, readHeld } from '../../bench/distance/held.ts'
import { measureAll } from '../../bench/distance/measure.ts'
import { root } from '../../scripts/toolchain.mjs'

/** A count is right where the isolates' own work takes less than a far round trip (bench/distance/path.ts). */
const farMs = 120
const farMsOfBusyMachine = 500

it('E9: no message waits for more far round trips in series than bench/distance/counts.json allows', async () => {
  const held = readHeld()
  const measured = await measureAll({ checkout: root, farMs, rests: 'skip' })
  expect(measured.map(({ name }) => name).toSorted()).toEqual(Object.keys(held).toSorted())
  const lower = linesBelow(measured, held)
  if (lower.length > 0)
    console.log(`npm run bench:distance -- --short --hold lowers bounds:\n${lower.join('\n')}`)

  const above = new Set(
    measured.filter((one) => linesAbove([one], held).length > 0).map(({ name }) => name),
  )
  if (above.size === 0) return
  // Pauses of a busy machine only add to a count, and add nothing where the distance is larger than they are.
  const again = await measureAll({
    checkout: root,
    farMs: farMsOfBusyMachine,
    rests: 'skip',
    only: (name) => above.has(name),
  })
  expect(linesAbove(again, held)).toEqual([])
})
