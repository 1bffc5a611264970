import { existsSync, globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { checkedEvents, deploymentPlace, places } from './test/setup/checked-events.mjs'
import { isolatedCode } from './test/setup/isolated-code.mjs'
import { switchedOff } from './test/switches/plugin.mjs'

// What a developer's own .dev.vars holds must not reach a test. Wrangler loads the file and nothing
// unloads it, so each name it may hold is set to the empty string, which our config reads as unset.
const unset = Object.fromEntries(
  ['.dev.vars.example', 'scripts/settings.vars', '.dev.vars']
    .filter((path) => existsSync(path))
    .flatMap((path) => [...readFileSync(path, 'utf8').matchAll(/^\s*(?:export\s+)?(\w+)\s*=/gm)])
    .map(([, name]) => [name, '']),
)

/** What the Worker imports and reaches no `node:` module, which this step cannot load. */
const packages = [
  '@cfworker/json-schema',
  '@huggingface/jinja',
  'eventsource-parser',
  'fflate',
  'hono',
  'hono/cors',
  'hono/route',
  'openai',
  'tokenx',
  'yaml',
  'zod',
]

/**
 * What ends a test that hangs, and nothing else: on a machine that does a dozen other things each takes ten times as
 * long as alone, and is right all the same.
 */
const patienceMs = 240_000

/** For `expect.poll`; for `vi.waitFor` it is in test/setup/patience.ts. */
const expect = { poll: { timeout: 60_000 } }

/** A file that `npm run generate` makes of a package's own, as `[alias]` in wrangler.toml has it. */
const trimmed = (path: string) => join(import.meta.dirname, 'src/trimmed.gen', path)

const resolve = {
  alias: {
    // What package.json exports is made by `npm pack`; here it is the source.
    'isola/plugin': join(import.meta.dirname, 'src/features/plugins/types/plugin.ts'),
    '@cloudflare/workers-oauth-provider': trimmed(
      '@cloudflare/workers-oauth-provider/dist/oauth-provider.js',
    ),
    '@huggingface/jinja': trimmed('@huggingface/jinja/dist/index.js'),
  },
}

/** How the files of a project run: beside each other in one process or Worker, or each in its own. */
interface Share {
  readonly name: string
  readonly include: string[]
  readonly isolate: boolean
}

const inNode = (share: Share) => ({
  resolve,
  plugins: [switchedOff(), checkedEvents()],
  test: {
    ...share,
    environment: 'node',
    setupFiles: ['./test/setup/fresh-file.ts', './test/setup/patience.ts'],
    expect,
    testTimeout: patienceMs,
    hookTimeout: patienceMs,
  },
})

/** What runs tests in workerd has wrangler in it, which takes longer to load than most files of tests. */
const loadPool = () => import('@cloudflare/vitest-pool-workers')
type Pool = Awaited<ReturnType<typeof loadPool>>

const inWorkerd = ({ cloudflareTest, readD1Migrations }: Pool, share: Share) => ({
  resolve,
  plugins: [
    switchedOff(),
    checkedEvents([...places, deploymentPlace]),
    isolatedCode(),
    cloudflareTest(async () => ({
      wrangler: { configPath: './wrangler.toml' },
      remoteBindings: false,
      miniflare: {
        // A database of the operator's, beside the deployment's own.
        d1Databases: { SQL: 'sql' },
        // Tests make a key each, and all come from one place.
        ratelimits: {
          STRANGER_LIMIT: { namespace_id: '2701', simple: { limit: 1_000, period: 60 } },
          REQUEST_LIMIT: { namespace_id: '2702', simple: { limit: 1_200, period: 60 } },
          SESSION_LIMIT: { namespace_id: '2703', simple: { limit: 300, period: 60 } },
        },
        bindings: {
          ...unset,
          ISOLA_OPERATOR_KEY: 'isk_test_operator_key',
          ISOLA_MASTER_KEY: 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=',
          ISOLA_ENV: 'development',
          OPENAI_API_KEY: 'sk-test',
          OPENAI_BASE_URL: 'http://model.test/v1',
          ISOLA_MODEL: 'openai/scripted',
          // It costs nothing, so that runs under a cost limit may ask it.
          ISOLA_PRICES: JSON.stringify({
            'openai/scripted': { input_usd_per_million: 0, output_usd_per_million: 0 },
          }),
          ISOLA_SQL_DATABASES: 'SQL',
          ISOLA_OIDC_ISSUER: 'https://login.test',
          ISOLA_OIDC_CLIENT_ID: 'isola',
          ISOLA_OIDC_CLIENT_SECRET: 'oidc-secret',
          ISOLA_OIDC_PEOPLE: JSON.stringify([
            { email: 'Ada@Example.com', principal: 'ada', role: 'user' },
            { subject: 'sub-grace', principal: 'grace', role: 'user' },
          ]),
          ISOLA_NIGHTLY: process.env['ISOLA_NIGHTLY'] ?? '',
          TEST_MIGRATIONS: existsSync('migrations') ? await readD1Migrations('migrations') : [],
        },
      },
    })),
  ],
  test: {
    ...share,
    // One module a package, not hundreds, halves that.
    deps: { optimizer: { ssr: { enabled: true, include: packages } } },
    setupFiles: [
      './test/setup/fresh-worker.ts',
      './test/setup/flat-proxies.ts',
      './test/setup/patience.ts',
    ],
    expect,
    testTimeout: patienceMs,
    hookTimeout: patienceMs,
  },
})

/**
 * Most files share a process or a Worker: to load what they test takes longer than most files. One that puts another module
 * in the place of ours cannot, since the others have been loaded with ours; nor can one that says so (`@alone`) and why.
 * Other plugins can be had anyway: the Worker is composed anew for each file.
 */
const files = globSync('test/**/*.test.ts').filter((path) => !path.startsWith('test/e2e/'))
const isAlone = (path: string) =>
  /vi\.(?:doM|m)ock\((?!'[./]*src\/bundled\.gen\.ts')|@alone/.test(readFileSync(path, 'utf8'))
const ofNode = files.filter((path) => !path.endsWith('.workers.test.ts'))
const ofWorkerd = files.filter((path) => path.endsWith('.workers.test.ts'))
const shared = (paths: string[]) => paths.filter((path) => !isAlone(path))
const alone = (paths: string[]) => paths.filter(isAlone)

/** Projects that are asked for by name, and the words of `vitest run <file>…`. */
const asked = process.argv.flatMap((arg, index, args) => {
  const [option, name = args[index + 1]] = arg.split('=')
  return option === '--project' && name !== undefined ? [name] : []
})
const words = process.argv.slice(2).filter((word) => word !== 'run')
const isOfNode = (word: string) => /(?<!\.workers)\.test\.ts$/.test(word) && existsSync(word)
const isAllInNode =
  (asked.length > 0 && asked.every((name) => /^(?:unit|e2e)/.test(name))) ||
  (words.length > 0 && words.every(isOfNode))

async function projectsInWorkerd() {
  const pool = await loadPool()
  return [
    inWorkerd(pool, { name: 'workers', isolate: false, include: shared(ofWorkerd) }),
    inWorkerd(pool, { name: 'workers-alone', isolate: true, include: alone(ofWorkerd) }),
  ]
}

// `switchedOff` takes a protection away where `npm run switches` asks for it, and does nothing otherwise.
export default defineConfig({
  test: {
    // Much of a test's time is waiting: two files at a time, also on a machine of two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      inNode({ name: 'unit', isolate: false, include: shared(ofNode) }),
      inNode({ name: 'unit-alone', isolate: true, include: alone(ofNode) }),
      ...(isAllInNode ? [] : await projectsInWorkerd()),
      {
        resolve,
        plugins: [switchedOff(), checkedEvents()],
        test: {
          name: 'e2e',
          environment: 'node',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: './test/e2e/prepare.mjs',
          setupFiles: ['./test/setup/patience.ts', './test/setup/check-fetch.ts'],
          expect,
          // Each file runs a server of its own, and most of its time it waits: three at a time keep two cores busy.
          sequence: { groupOrder: 1 },
          maxWorkers: Math.max(3, availableParallelism() - 1),
          testTimeout: 2 * patienceMs,
          hookTimeout: 2 * patienceMs,
        },
      },
    ],
  },
})
