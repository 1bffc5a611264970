import { existsSync, readFileSync } from 'node:fs'
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-pool-workers'
import { defineConfig } from 'vitest/config'
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

// `switchedOff` takes a protection away where `npm run switches` asks for it, and does nothing otherwise.
export default defineConfig({
  test: {
    projects: [
      {
        plugins: [switchedOff()],
        test: {
          name: 'unit',
          environment: 'node',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.workers.test.ts', 'test/e2e/**'],
          testTimeout: 20_000,
        },
      },
      {
        plugins: [
          switchedOff(),
          isolatedCode(),
          cloudflareTest(async () => ({
            wrangler: { configPath: './wrangler.toml' },
            remoteBindings: false,
            miniflare: {
              // A database of the operator's, beside the deployment's own.
              d1Databases: { SQL: 'sql' },
              bindings: {
                ...unset,
                ISOLA_OPERATOR_KEY: 'isk_test_operator_key',
                ISOLA_MASTER_KEY: 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=',
                ISOLA_ENV: 'development',
                OPENAI_API_KEY: 'sk-test',
                OPENAI_BASE_URL: 'http://model.test/v1',
                ISOLA_MODEL: 'openai/scripted',
                ISOLA_SQL_DATABASES: 'SQL',
                TEST_MIGRATIONS: existsSync('migrations')
                  ? await readD1Migrations('migrations')
                  : [],
              },
            },
          })),
        ],
        test: {
          name: 'workers',
          include: ['test/**/*.workers.test.ts'],
          exclude: ['test/e2e/**'],
          setupFiles: ['./test/setup/migrations.ts'],
          testTimeout: 20_000,
        },
      },
      {
        plugins: [switchedOff()],
        test: {
          name: 'e2e',
          environment: 'node',
          include: ['test/e2e/**/*.test.ts'],
          // Each file runs a server of its own: one at a time, with time to start it.
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
