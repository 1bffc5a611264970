// npm run mutation [-- --rooms leases,kernel] [--jobs N]
// Changes the code of pure rooms, one place at a time, and expects a red test. Prints what nobody noticed; the last line
// is the score: the share of changes that a test noticed. For the night: each change runs the tests that reach it.
import { parseArgs } from 'node:util'
import { Stryker } from '@stryker-mutator/core'
import { root } from '../../scripts/toolchain.mjs'

/** The tests of each room. */
const rooms = {
  leases: ['test/unit/{leases,kernel}/**/*.test.ts'],
  kernel: ['test/unit/{leases,kernel}/**/*.test.ts', 'test/unit/switched/kernel.test.ts'],
  context: ['test/unit/context/**/*.test.ts', 'test/unit/kernel/context.test.ts'],
  contracts: ['test/unit/contracts/**/*.test.ts'],
}

const { values } = parseArgs({
  options: { rooms: { type: 'string' }, jobs: { type: 'string', default: '2' } },
})
const chosen = values.rooms?.split(',') ?? Object.keys(rooms)
const unknown = chosen.filter((room) => !Object.hasOwn(rooms, room))
if (unknown.length > 0) throw new Error(`there are no tests of ${unknown.join(', ')}`)

process.chdir(root)

const noticed = new Set(['Killed', 'Timeout'])
const missed = new Set(['Survived', 'NoCoverage'])

async function mutate(room) {
  process.env.ISOLA_MUTATION_TESTS = rooms[room].join(' ')
  const mutants = await new Stryker({
    mutate: [`src/${room}/**/*.ts`],
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
    coverageAnalysis: 'perTest',
    // What is worked out when a module is loaded, once for all tests.
    ignoreStatic: true,
    concurrency: Number(values.jobs),
    // It reads the file with the API of an older compiler.
    tsconfigFile: 'none',
    ignorePatterns: ['dist', 'bench', 'docs', 'examples'],
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
  return `${room} ${((100 * caught) / all).toFixed(1)} % of ${all}`
}

const scores = []
for (const room of chosen) scores.push(await mutate(room))
console.log(`mutation score: ${scores.join(', ')}`)
