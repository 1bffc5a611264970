// npm run mutation [-- --rooms leases,kernel] [--sample 50 [--seed <text>]] [--jobs N]
// Changes the code of pure rooms, one place at a time, and expects a red test. Prints the unnoticed changes; the last line
// is the score: the share of changes that a test noticed. `--sample` tries so many changes of each room, not all. For the
// night: each change runs the tests that reach it.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Stryker } from '@stryker-mutator/core'
import { root } from '../../scripts/toolchain.mjs'
import { sampleVariable, seedVariable } from './sample.mjs'

/** What builds, narrows and converts for all rooms is tested where they use it. */
const users =
  'access,agents,approvals,catalog,client,context,contracts,d1,http,kernel,mcp,mcp-servers,memory,models,openai,outbound,plugins,policy,record,session,sessions,skills'

/** The tests of each room. Of the kernel's, which all book something, those that ask what was booked. */
const rooms = {
  leases: ['test/unit/kernel/{bill,deadlines,gates,generate,inner,ledger,run,unconfirmed}.test.ts'],
  kernel: ['test/unit/kernel/**/*.test.ts', 'test/unit/switched/kernel.test.ts'],
  context: ['test/unit/context/**/*.test.ts', 'test/unit/kernel/context.test.ts'],
  contracts: [`test/unit/{${users}}/**/*.test.ts`],
}

const { values } = parseArgs({
  options: {
    rooms: { type: 'string' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '2' },
  },
})
const chosen = values.rooms?.split(',') ?? Object.keys(rooms)
const unknown = chosen.filter((room) => !Object.hasOwn(rooms, room))
if (unknown.length > 0) throw new Error(`there are no tests of ${unknown.join(', ')}`)

if (values.sample !== undefined && !(Number(values.sample) >= 1))
  throw new Error('--sample must be a number of changes')

process.chdir(root)
process.env[sampleVariable] = values.sample ?? ''
process.env[seedVariable] = values.seed
const sample = join(import.meta.dirname, 'sample.mjs')

const noticed = new Set(['Killed', 'Timeout'])
const missed = new Set(['Survived', 'NoCoverage'])

const folders = {
  leases: 'runtime/kernel/leases',
  kernel: 'runtime/kernel',
  context: 'runtime/context',
}

async function mutate(room) {
  process.env.ISOLA_MUTATION_TESTS = rooms[room].join(' ')
  const mutants = await new Stryker({
    mutate: [`src/${folders[room] ?? room}/**/*.ts`],
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner', ...(values.sample ? [sample] : [])],
    checkers: values.sample ? ['sample'] : [],
    vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
    coverageAnalysis: 'perTest',
    // Values that a module computes once, when it is loaded for all tests.
    ignoreStatic: true,
    concurrency: Number(values.jobs),
    // A change that hangs is noticed by its time: no test takes so long, also where the machine does much else.
    timeoutMS: 120_000,
    dryRunTimeoutMinutes: 60,
    // It reads the file with the API of an older compiler.
    tsconfigFile: 'none',
    ignorePatterns: ['dist', 'bench', 'examples'],
    reporters: process.stdout.isTTY ? ['progress'] : [],
    logLevel: 'error',
  }).runMutationTest()
  const of = (statuses) => mutants.filter(({ status }) => statuses.has(status))
  for (const { fileName, location, mutatorName, replacement } of of(missed)) {
    const text = replacement.replace(/\s+/g, ' ').slice(0, 80)
    const path = fileName.slice(fileName.lastIndexOf('/src/') + 1)
    console.log(`${path}:${location.start.line}: ${mutatorName}: ${text}`)
  }
  const [caught, all] = [of(noticed).length, of(noticed).length + of(missed).length]
  const count = values.sample ? `a sample of ${all}, seed ${values.seed}` : `${all}`
  return `${room} ${((100 * caught) / all).toFixed(1)} % of ${count}`
}

const scores = []
for (const room of chosen) {
  scores.push(await mutate(room))
  console.log(scores.at(-1))
}
console.log(`mutation score: ${scores.join(', ')}`)
