// The modules that a plugin and its tests are bundled with: files of the clone, or what `npm pack` made of them
// (scripts/pack.mjs).
import { resolve } from 'node:path'
import { isClone } from '../scripts/toolchain.mjs'

/** Paths from the root, each by the name that others import it by, or ours for it. */
export const sources = {
  'isola/plugin': 'src/features/plugins/types/plugin.ts',
  'isola/testing': 'test/authors/testing.ts',
  vitest: 'node_modules/vitest/dist/index.js',
  worker: 'test/authors/worker.ts',
  host: 'test/authors/host.ts',
}

/** The same in an installed package. */
export const built = {
  'isola/plugin': 'packed/authors/plugin.js',
  'isola/testing': 'packed/authors/testing.js',
  vitest: 'packed/authors/vitest.js',
  worker: 'packed/authors/worker.js',
  host: 'packed/authors/host.js',
}

export const authorFiles = isClone ? sources : built

/** The files with the types of `isola/plugin` and `isola/testing`. */
export const typeFiles = isClone
  ? { plugin: 'src/features/plugins/types/plugin.ts', testing: 'test/authors/isola-testing.d.ts' }
  : { plugin: 'packed/plugin.d.ts', testing: 'packed/testing.d.ts' }

/** A path as its user gave it: npm runs the command in the folder of the clone, so it starts where the user is. */
export const at = (given: string): string => resolve(process.env['INIT_CWD'] ?? '.', given)
