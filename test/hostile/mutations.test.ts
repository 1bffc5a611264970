import { expect, it } from 'vitest'
import { createPluginLifecycle } from '../../src/runtime/catalog/lifecycle/lifecycle.ts'
import { readUpload } from '../../src/features/plugins/admission/read-upload.ts'
import { createBundleStore } from '../../src/features/plugins/store/bundles.ts'
import { createPluginStore } from '../../src/features/plugins/store/plugins.ts'
import { createSkillStore } from '../../src/features/skills/store/skills.ts'
import { createFakeApp } from '../fakes/http-deps.ts'
import { sha256 } from '../fakes/kernel.ts'
import { createRandom } from '../fakes/random.ts'
import { createSqliteDatabase } from '../fakes/sqlite-database.ts'
import { code, uploadDeps } from '../fakes/uploads.ts'

// Another seed or more of them: HOSTILE_SEED=7 HOSTILE_MUTATIONS=20000 npx vitest run --project unit test/hostile/mutations
// oxlint-disable-next-line node/no-process-env
const { HOSTILE_SEED = '1', HOSTILE_MUTATIONS = '1000' } = process.env

/** A bundle with something in every part of it. */
const whole = {
  manifest: {
    id: 'mutant',
    name: 'Mutant',
    version: '1.0.0',
    api: '>=1.0 <2.0',
    entrypoint: 'main.js',
    description: 'Is changed.',
    enabled: true,
    contributes: {
      tools: [
        {
          name: 'go',
          description: 'Goes.',
          input_schema: { type: 'object', properties: { a: { type: 'string', pattern: '^a$' } } },
          annotations: { readOnlyHint: true },
          timeout_ms: 500,
        },
      ],
      hooks: [{ on: 'beforeToolCall', match: 'kv__*' }],
    },
    grants: {
      network: [{ host: 'api.example.com', methods: ['GET'] }],
      secrets: [{ name: 'KEY', host: 'api.example.com', in: 'header' }],
      storage: { quota: '1mb', scope: 'session' },
      model: { max_tokens: 100 },
    },
    depends_on: ['kv'],
    uses_tools: ['kv'],
    agent: { integration_mode: 'tool', model: 'm', instructions: 'p.md', uses_tools: ['kv'] },
    schedule: '0 4 * * *',
    config: { a: 1 },
  },
  code,
  files: { 'p.md': 'Do it.', 'README.md': '# M' },
}

type Tree = Record<string, unknown>
const odd: readonly unknown[] = [
  null,
  '',
  0,
  -1,
  1.5,
  1e308,
  true,
  [],
  {},
  [[]],
  'x'.repeat(10_000),
  '\u0000',
  '\ud800',
  '../../etc/passwd',
  '__proto__',
  '*',
  '{{7*7}}',
  '\u202egpj',
  Number.MAX_SAFE_INTEGER + 1,
  'kv',
  'isola__call',
  'builtin',
  'https://169.254.169.254',
  '(a+)+$',
]

/** Changes one place of a bundle: another value, gone, doubled, moved or with an unknown key. */
function mutate(random: ReturnType<typeof createRandom>): unknown {
  const bundle: unknown = structuredClone(whole)
  for (let count = random.int(1, 3); count > 0; count -= 1) {
    let at = bundle as Tree
    for (;;) {
      const keys = Object.keys(at)
      const key = keys[random.int(0, Math.max(0, keys.length - 1))] ?? 'x'
      const below = at[key]
      const isDeep = typeof below === 'object' && below !== null && Object.keys(below).length > 0
      if (isDeep && random.chance(0.75)) {
        at = below as Tree
        continue
      }
      const value = structuredClone(odd[random.int(0, odd.length - 1)])
      const ways = [
        () => (at[key] = value),
        () => delete at[key],
        () => (at[`${key}x`] = below),
        () =>
          Object.defineProperty(at, '__proto__', {
            value,
            enumerable: true,
            configurable: true,
            writable: true,
          }),
        () => (at[key] = Array.from({ length: 300 }, () => below)),
        () => (at[key] = nested(below, random.int(2, 200))),
        () => (at[key] = structuredClone(whole)),
        () => (at[String(value).slice(0, 300)] = value),
      ]
      ways[random.int(0, ways.length - 1)]!()
      break
    }
  }
  return bundle
}

const nested = (value: unknown, depth: number): unknown =>
  depth === 0 ? value : { a: nested(value, depth - 1) }

function open() {
  const { database } = createSqliteDatabase()
  const near = new Map<string, string>()
  const namespace = {
    get: async (key: string) => near.get(key) ?? null,
    put: async (key: string, value: string) => void near.set(key, value),
    delete: async (key: string) => void near.delete(key),
  }
  const clock = { nowMs: () => 1, sleep: async () => {} }
  const bundles = createBundleStore({ database, namespace, sha256, clock })
  const store = createPluginStore(database)
  const { change } = createPluginLifecycle({
    store,
    bundles,
    quota: { maxVersions: 1e6, maxBytes: 1e12, maxAddsPerHour: 1e6 },
    around: async (generation) => ({ ...generation, sources: {} }),
    clock,
    bundledIds: () => new Set(['kv']),
    skills: createSkillStore(database),
    bundledSkills: async () => [],
    signers: async () => [],
    tryOut: async () => ({ runsOwnAgent: false }),
  })
  const app = createFakeApp({
    deps: {
      readUpload: async (upload) => ({
        ...(await readUpload(upload, uploadDeps())),
        tier: 'community',
      }),
      plugins: {
        list: async () => [],
        show: async () => undefined,
        failed: async () => [],
        generations: async () => [],
        policy: async () => {
          throw new Error('nobody asks')
        },
        exposed: async () => {
          throw new Error('nobody asks')
        },
        change,
      },
    },
  })
  return { app, store }
}

it('G3, G5: a bundle that was changed at random is taken or refused with the field, never more', async () => {
  const random = createRandom(Number(HOSTILE_SEED))
  const { app, store } = open()
  const counts = { accepted: 0, refused: 0 }
  for (let index = 0; index < Number(HOSTILE_MUTATIONS); index += 1) {
    const bundle = mutate(random)
    const response = await app.send('/api/operator/plugins', {
      json: { bundle, allowDowngrade: true, replace: true },
    })
    const text = await response.text()
    const about = `seed ${HOSTILE_SEED}, mutation ${index}: ${JSON.stringify(bundle).slice(0, 2_000)}\n${text.slice(0, 500)}`
    expect([201, 400, 409, 413, 422].includes(response.status), `${response.status} ${about}`).toBe(
      true,
    )
    if (response.status === 201) {
      counts.accepted += 1
      const { plugin } = JSON.parse(text)
      expect(plugin.state, about).toBe('installed')
    } else {
      counts.refused += 1
      const { error } = JSON.parse(text)
      expect(error.message.length, about).toBeGreaterThan(10)
      expect(text, about).not.toMatch(
        /\n\s+at |\.[jt]s:\d+:\d+|node_modules|SQLITE|TypeError|RangeError/,
      )
    }
  }
  expect((await store.list()).every(({ state }) => state === 'installed')).toBe(true)
  expect(({} as Tree)['memory']).toBeUndefined()
  // oxlint-disable-next-line no-console
  console.log(`mutations of bundles, seed ${HOSTILE_SEED}: ${JSON.stringify(counts)}`)
})
