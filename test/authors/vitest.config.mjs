import { join } from 'node:path'
import { cloudflareTest } from '@cloudflare/vitest-pool-workers'
import { defineConfig } from 'vitest/config'
import { root } from '../../scripts/toolchain.mjs'
import { underTest } from './under-test.mjs'

const folder = process.env['ISOLA_PLUGIN_FOLDER'] ?? ''

/** `isola plugin test`: the folder's tests, once for each host, both in workerd. */
export default defineConfig({
  root,
  test: {
    projects: ['in-process', 'isolate'].map((host) => ({
      root,
      plugins: [
        underTest(host, folder),
        cloudflareTest({
          wrangler: { configPath: join(root, 'wrangler.toml') },
          remoteBindings: false,
          miniflare: {
            bindings: {
              ISOLA_OPERATOR_KEY: 'isk_test_operator_key',
              ISOLA_ENV: 'development',
              OPENAI_API_KEY: '',
              OPENAI_BASE_URL: '',
              ISOLA_MODEL: 'offline',
            },
          },
        }),
      ],
      test: { name: host, include: ['test/authors/plugin.authors.ts'], testTimeout: 60_000 },
    })),
  },
})
