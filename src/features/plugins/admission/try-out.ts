import { headOf } from '#contracts/cut.ts'
import { IsolaError } from '#contracts/errors.ts'
import { parseManifest } from '#runtime/catalog/types/permit.ts'
import { codeModeOff, type PluginProblem } from '#contracts/operations.ts'
import type { PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import type { TryOut } from '#runtime/catalog/types/part-kind.ts'
import type { IsolateHost } from '../sandbox/isolate-host.ts'
import { OutputError } from '../types/plugin-output.ts'
import { quoted } from './archive-paths.ts'

/** Wires a generation, and starts a plugin's code once. */
export interface TryOutDeps {
  /** Wires a whole generation, as a session would. */
  readonly wire: (snapshot: PluginSnapshot) => { readonly problems: readonly PluginProblem[] }
  readonly isolates: Pick<IsolateHost, 'inspect'> | undefined
}

/**
 * Checks whether a plugin would work in this generation: its manifest, dependencies, names and prompts, and last its
 * code, which is registered in an isolate without capabilities. Throws the first problem.
 */
export function createTryOut({ wire, isolates }: TryOutDeps): TryOut {
  return async (snapshot, { id, hash, tier, grantEpoch, config }) => {
    const problem = wire(snapshot).problems.find(
      ({ plugin, code }) => plugin === id && !works.has(code),
    )
    if (problem) throw new IsolaError(problem.code as 'plugin_register_failed', problem.message)
    const manifest = parseManifest(snapshot.sources[hash]?.manifest)
    if (manifest.entrypoint === undefined || !isolates) return { runsOwnAgent: false }
    const about = { ...manifest, config: { ...manifest.config, ...config } }
    const plugin = { manifest: about, hash, tier, grantEpoch }
    return isolates.inspect(plugin).catch(toPluginError(manifest.entrypoint))
  }
}

/** Problems with which a plugin works all the same. */
const works: ReadonlySet<string> = new Set([codeModeOff, 'plugin_api_deprecated'])

/** The isolate's answer is untrusted: it is quoted as a reason, and never becomes an error of ours. */
const toPluginError =
  (entrypoint: string) =>
  (error: unknown): never => {
    if (error instanceof IsolaError) throw error
    const told = error instanceof OutputError ? headOf(error.message, 500) : undefined
    const isOneModule = told !== undefined && !told.includes('No such module')
    const hint = isOneModule
      ? ''
      : ` ${quoted(entrypoint)} has to be one module of JavaScript, as \`isola plugin build\` makes it.`
    throw new IsolaError('plugin_register_failed', `its code ${told ?? 'cannot be loaded.'}${hint}`)
  }
