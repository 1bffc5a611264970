// What distance costs: the Worker with each class of objects in an isolate of its own and a delay in front of each
// binding. Prints which far round trips stand in series before the model is asked, before the first token and before
// the answer. Usage:
//   npm run bench:distance [-- --far <ms>] [--only <text>] [--short] [--json] [--in <folder>]
// --far: milliseconds of a far round trip, 160 if not given. --only: cells whose name has this text. --short: rests are
// made up by dropping objects and moving clocks, not waited for. --in: another checkout, built from its own sources.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../../scripts/toolchain.mjs'
import { measureAll } from './measure.ts'
import { print } from './report.ts'

const { values } = parseArgs({
  options: {
    far: { type: 'string', default: '160' },
    only: { type: 'string', default: '' },
    short: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    in: { type: 'string', default: root },
  },
})
const measured = await measureAll({
  checkout: resolve(values.in),
  farMs: Number(values.far),
  only: values.only,
  isPatient: !values.short,
})
if (values.json) console.log(JSON.stringify(measured, null, 2))
else print(measured)
process.exit(0)
