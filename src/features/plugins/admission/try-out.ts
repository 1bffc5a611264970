import { headOf } from '#contracts/cut.ts'
import { IsolaError } from '#contracts/errors.ts'
import { parseManifest } from '#runtime/catalog/types/manifest.ts'
import { codeModeOff, type PluginProblem } from '#contracts/operations.ts'
import type { PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import type { TryOut } from '#runtime/catalog/types/part-kind.ts'
import type { IsolateHost } from '../sandbox/isolate-host.ts'
import { OutputError } from '../sandbox/output-error.ts'
import { quoted } from './refused.ts'

/** How a generation is put together, and code started once. */
export interface TryOutDeps {
  /** Wires a whole generation, as a session would. */
  readonly wire: (snapshot: PluginSnapshot) => { readonly problems: readonly PluginProblem[] }
  readonly isolates: Pick<IsolateHost, 'inspect'> | undefined
}

/**
 * Whether a plugin would work in this set: its manifest, its dependencies, its names, its prompts, and last its code,
 * which is registered in an isolate with nothing in its hands. Throws the first thing that is wrong.
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

/** What is listed of a plugin that works all the same. */
const works: ReadonlySet<string> = new Set([codeModeOff, 'plugin_api_deprecated'])

/** What an isolate answers is foreign: it is a reason, and never an error of ours. */
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
