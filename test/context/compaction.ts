// npm run compaction -- [--transcripts 1000 --seed 1 --from 0 --short --compactor test/context/compactors/keep-all.ts]
//
// What a compactor keeps of generated conversations with planted facts, by kind; exits with 1 if a rule of rules.ts is
// broken. The default is the compactor that Isola uses, by test/context/compactor.ts. `--short` takes 26 transcripts.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type { CreateCompactor } from './compactor-contract.ts'
import { generateTranscript } from './generator.ts'
import { createReport } from './report.ts'
import { scoreTranscript } from './scorer.ts'

const { values } = parseArgs({
  options: {
    transcripts: { type: 'string' },
    seed: { type: 'string', default: '1' },
    from: { type: 'string', default: '0' },
    short: { type: 'boolean', default: false },
    compactor: { type: 'string', default: 'test/context/compactor.ts' },
  },
})
const count = Number(values.transcripts ?? (values.short ? 26 : 1_000))
const [seed, from] = [Number(values.seed), Number(values.from)]
const file = resolve(values.compactor)
if (!existsSync(file)) {
  console.error(`There is no ${values.compactor}: it has to export createCompactor.`)
  process.exit(2)
}
const { createCompactor } = (await import(pathToFileURL(file).href)) as {
  readonly createCompactor: CreateCompactor
}

const report = createReport()
for (let number = from; number < from + count; number += 1) {
  const transcript = generateTranscript(seed, number)
  report.add(transcript, await scoreTranscript(transcript, createCompactor))
  if ((number - from + 1) % 100 === 0) console.error(`${number - from + 1} of ${count}`)
}
console.log(report.lines().join('\n'))
console.log(report.isBroken() ? 'compaction: rules are broken' : 'compaction ok')
process.exitCode = report.isBroken() ? 1 : 0
