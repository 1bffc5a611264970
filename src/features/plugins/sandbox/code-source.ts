import { IsolaError } from '#contracts/errors.ts'
import type { BundledPlugin } from '#contracts/manifest/manifest.ts'
import type { PluginBundle } from '#runtime/catalog/types/plugin-upload.ts'
import type { BundleStore } from '#runtime/catalog/types/plugin-catalog.ts'

/** The code of isolated plugins by the plugin's hash; the Runner reads it when an isolate starts. */
export function createCodeSource(
  plugins: readonly BundledPlugin[],
  bundles: Pick<BundleStore, 'load'>,
): (hash: string) => Promise<string> {
  return async (hash) => {
    const found = plugins.find((plugin) => plugin.isolated && plugin.hash === hash)
    if (found?.isolated?.code !== undefined) return found.isolated.code
    const { code } = JSON.parse(await bundles.load(hash)) as PluginBundle
    if (code !== undefined) return code
    throw new IsolaError('plugin_code_unavailable', `there is no code for ${hash.slice(0, 12)}`)
  }
}
