import { IsolaError } from '#contracts/errors.ts'
import type { BundledPlugin } from '#contracts/manifest.ts'

/** The code of isolated plugins by the plugin's hash: what the Runner asks when an isolate starts. */
export function createCodeSource(
  plugins: readonly BundledPlugin[],
): (hash: string) => Promise<string> {
  return async (hash) => {
    const found = plugins.find((plugin) => plugin.isolated && plugin.hash === hash)
    if (found?.isolated) return found.isolated.code
    throw new IsolaError('plugin_code_unavailable', `there is no code for ${hash.slice(0, 12)}`)
  }
}
