// isola plugin test: the folder's tests and the battery, in both hosts.
import { resolve } from 'node:path'
import { runNode, tools } from '../toolchain.mjs'
import { buildFolder } from './plugin-build.mjs'

const config = 'test/authors/vitest.config.mjs'

/** @returns The exit code. What is wrong with the folder itself is told before anything starts. */
export async function testFolder(folder) {
  await buildFolder(folder)
  const { code } = await runNode([tools.vitest, 'run', '--config', config], {
    env: { ISOLA_PLUGIN_FOLDER: resolve(folder) },
  })
  return code === 0 ? 0 : 1
}
