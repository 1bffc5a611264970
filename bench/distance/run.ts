// What distance costs: the Worker with each class of objects in an isolate of its own and a delay in front of each
// binding. Prints the far round trips that stand in series before the model is asked, before the first token and before
// the answer (path.ts says how they are counted), and the milliseconds they cost. Usage:
//   npm run bench:distance [-- --far <ms>] [--only <text>] [--short] [--json] [--hold] [--in <folder>]
// --far: milliseconds of a far round trip, 160 if not given. --only: cells whose names have this text. --short: rests
// are made up by dropping objects and moving clocks, and all callers are measured at the same time: for counts, not for
// times. --hold: the counts become the bounds in counts.json. --in: another checkout, built from its own sources.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../../scripts/toolchain.mjs'
import { linesAbove, linesBelow, readHeld, writeHeld } from './held.ts'
import { measureAll } from './measure.ts'
import { print } from './report.ts'

const { values } = parseArgs({
  options: {
    far: { type: 'string', default: '160' },
    only: { type: 'string', default: '' },
    short: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    hold: { type: 'boolean', default: false },
    in: { type: 'string', default: root },
  },
})
const measured = await measureAll({
  checkout: resolve(values.in),
  farMs: Number(values.far),
  only: (name) => name.includes(values.only),
  rests: values.short ? 'skip' : 'wait',
})
if (values.json) console.log(JSON.stringify(measured, null, 2))
else {
  print(measured)
  const held = readHeld()
  for (const line of linesAbove(measured, held)) console.log(`above its bound: ${line}`)
  for (const line of linesBelow(measured, held)) console.log(`below its bound: ${line}`)
}
if (values.hold) writeHeld(measured)
