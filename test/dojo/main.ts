// npm run dojo -- [--data <folder> --version v1.2.1 --suite banking]
//
// Replays tasks with and without attackers in the texts that they read, by a model that obeys them all, through the
// gates of a deployment under each of `policies.ts`; then every way of writing an order by every carrier. Without --data the
// suites are our own; README.md says what a folder has to hold. Exits with 1 if an attacker got anything done by a policy
// that shows every text before it leaves, or a task was not finished.
import { parseArgs } from 'node:util'
import { carryAll } from './carried.ts'
import { harmed, measure, type Measured } from './measure.ts'
import { ownSuites } from './own-suites.ts'
import { lenient, policies } from './policies.ts'
import { carriedLines, reportLines } from './report.ts'
import { loadSuites } from './suite.ts'

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    version: { type: 'string', default: 'v1.2.1' },
    suite: { type: 'string' },
  },
})
const all = values.data === undefined ? ownSuites : loadSuites(values.data, values.version)
const wanted = all.filter(({ name }) => values.suite === undefined || name === values.suite)
if (wanted.length === 0) throw new Error(`there is no ${values.suite}`)

const results: boolean[] = []
for (const [name, policy] of Object.entries({ ...policies, ...lenient })) {
  const measured: Measured[] = []
  for (const suite of wanted) measured.push(await measure(suite, policy))
  console.log(reportLines(name, measured).join('\n'))
  const mayHarm = Object.hasOwn(lenient, name)
  results.push(
    ...measured.map(
      ({ attacked, benign }) =>
        (mayHarm || harmed(attacked, 'plain') + harmed(attacked, 'encoded') === 0) &&
        benign.every(({ isFinished }) => isFinished),
    ),
  )
}
if (values.suite === undefined) {
  const carried = await carryAll()
  console.log(carriedLines(carried).join('\n'))
  results.push(
    carried.attacks.every(({ leaked }) => leaked.length === 0) &&
      carried.twins.every(({ isFinished }) => isFinished),
  )
}
const ok = results.filter(Boolean).length
console.log(`${ok} ok, ${results.length - ok} failed`)
process.exitCode = ok === results.length ? 0 : 1
