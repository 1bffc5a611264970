// What Stryker runs against each mutant (run.mjs): tests of pure rooms, without the plugins of our other projects.
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

const root = join(import.meta.dirname, '../..')

export default defineConfig({
  resolve: { alias: { 'isola/plugin': join(root, 'src/features/plugins/types/plugin.ts') } },
  test: {
    root,
    include: (process.env['ISOLA_MUTATION_TESTS'] ?? '').split(' '),
    // One counts the lines of the sources, one replaces a module: neither can share its modules.
    exclude: ['test/unit/kernel/size.test.ts', 'test/unit/kernel/raised-limits.test.ts'],
    setupFiles: ['./test/setup/fresh-file.ts', './test/setup/patience.ts'],
    isolate: false,
    testTimeout: 240_000,
  },
})
