import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import { errorMessage, IsolaError } from '#contracts/errors.ts'
import { parseManifest } from '#runtime/catalog/types/permit.ts'
import type { Manifest, RequestedGrants, TrustTier } from '#contracts/manifest/manifest.ts'
import type { BundledPlugin, IsolatedCode } from '../types/manifest.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import type { Capabilities, HookEvent, PluginParts } from '#features/plugins/types/plugin.ts'
import type { SchemaValidator } from '#contracts/tool.ts'
import type { JsonObject } from '#contracts/json.ts'
import { orderByDependencies } from './dependency-order.ts'
import { runHookBatch } from '../sandbox/hook-batch.ts'
import { toJson } from '../sandbox/json-border.ts'
import type { IsolateHost } from '../sandbox/isolate-host.ts'
import { checkApi } from './plugin-api.ts'
import {
  detectProtocols,
  isPartsObject,
  protocolsOf,
  refuseLater,
  type HostedFunction,
  type HostedParts,
  type Protocol,
} from '../sandbox/plugin-parts.ts'

/** A plugin that is initialized and wired. */
export interface LoadedPlugin {
  readonly manifest: Manifest
  readonly tier: TrustTier
  /** Grows with each change of the plugin's grants; absent for a plugin that ships with the deployment. */
  readonly grantEpoch?: number
  /** The plugin's grants; a plugin that ships with the deployment has all that its manifest requests. */
  readonly granted: RequestedGrants
  /** sha-256 of manifest, code and files. */
  readonly hash: string
  /** Text files of the folder by path, such as prompts. */
  readonly files: Readonly<Record<string, string>>
  readonly parts: HostedParts
  readonly protocols: readonly Protocol[]
  /** An operator has read the texts that the plugin shows to models. */
  readonly isTold?: boolean
}

/** Dependencies of the loader. */
interface LoadPluginsDeps {
  /** Checks a manifest's `config` against its `config_schema`. */
  readonly validator: SchemaValidator
  /** Runs code that may not run in this isolate; `undefined` without a Worker Loader. */
  readonly isolates?: IsolateHost | undefined
}

interface Candidate {
  readonly id: string
  readonly dependsOn: readonly string[]
  readonly manifest: Manifest
  readonly bundled: BundledPlugin
  /** Warning that the plugin's API version is deprecated. */
  readonly warning?: string
}

/**
 * Loads the plugins that ship with the deployment: discover → load → initialize → wire → start (Y22).
 * Contract: never throws; a broken plugin is listed in `problems` and the rest load (docs/design.md invariant 7).
 *
 * @returns `plugins` in dependency order; `problems` of plugins that are off, by id, or by the place in the list if
 *   there is none; `warnings` of plugins that will not work with a later version; `manifests`: all valid manifests,
 *   loaded or not, for the table of installed plugins.
 */
export function loadPlugins(bundled: readonly BundledPlugin[], deps: LoadPluginsDeps) {
  const problems: PluginProblem[] = []
  const attempt = <T>(plugin: string, stage: () => T): T | undefined => {
    try {
      return stage()
    } catch (error) {
      problems.push({ plugin, ...toProblem(error) })
      return undefined
    }
  }

  const found = bundled.flatMap((entry, index) => {
    const source = nameOf(entry, index)
    return attempt(source, () => [toCandidate(entry, source, deps.validator)]) ?? []
  })
  const unique = found.filter((candidate, index) => {
    const isFirst = found.findIndex(({ id }) => id === candidate.id) === index
    if (!isFirst)
      problems.push({
        plugin: candidate.id,
        code: 'plugin_name_collision',
        message: 'another plugin has this id already',
      })
    return isFirst
  })
  const manifests = unique.filter(({ bundled }) => !bundled.isolated).map(toInstalled)
  const enabled = unique.filter(({ manifest }) => manifest.enabled)

  const disabled = unique.filter(({ manifest }) => !manifest.enabled)
  const absences = new Map([
    ...problems.map(({ plugin }) => [plugin, 'could not be loaded'] as const),
    ...disabled.map(({ id }) => [id, 'is disabled'] as const),
  ])
  const order = orderByDependencies(enabled, absences)
  for (const { id, message } of order.refused) {
    problems.push({ plugin: id, code: 'plugin_dependency_missing', message })
  }

  const plugins: LoadedPlugin[] = []
  for (const candidate of order.ordered) {
    const loaded = attempt(candidate.id, () => initialize(candidate, plugins, deps))
    if (loaded) plugins.push(loaded)
  }
  const warnings = unique.flatMap(({ id, warning }): readonly PluginProblem[] =>
    warning === undefined ? [] : [{ plugin: id, code: 'plugin_api_deprecated', message: warning }],
  )
  return { plugins, problems, warnings, manifests }
}

/** One installed version. `disabled` is the manifest's `enabled: false`: off, but no problem. */
function toInstalled({ id, manifest, bundled }: Candidate) {
  const state = manifest.enabled ? ('enabled' as const) : ('disabled' as const)
  return { id, version: manifest.version, hash: bundled.hash, manifest: bundled.manifest, state }
}

function nameOf({ manifest }: BundledPlugin, index: number): string {
  const id =
    typeof manifest === 'object' && manifest !== null && 'id' in manifest ? manifest.id : undefined
  return typeof id === 'string' ? id.slice(0, 64) : `plugin ${index + 1}`
}

function toCandidate(
  bundled: BundledPlugin,
  source: string,
  validator: SchemaValidator,
): Candidate {
  const manifest = parseManifest(bundled.manifest, `${source}/plugin.yaml`)
  const warning = checkApi(manifest)
  checkConfig(manifest, validator)
  const { id, depends_on: dependsOn } = manifest
  return { id, dependsOn, manifest, bundled, ...defined({ warning }) }
}

function checkConfig(
  { config, config_schema: schema }: Manifest,
  validator: SchemaValidator,
): void {
  if (!schema) return
  const verdict = validator.validate(schema, toJson(config))
  if (!verdict.ok)
    throw new IsolaError('plugin_manifest_invalid', `config${verdict.path}: ${verdict.message}`)
}

function initialize(
  { manifest, bundled }: Candidate,
  loaded: readonly LoadedPlugin[],
  deps: LoadPluginsDeps,
): LoadedPlugin {
  const lost = manifest.depends_on.find((id) => !loaded.some((plugin) => plugin.manifest.id === id))
  if (lost !== undefined) {
    throw new IsolaError(
      'plugin_dependency_missing',
      `depends_on names "${lost}", which could not be loaded`,
    )
  }
  if (!deps.isolates && manifest.grants.isolate) throw noLoader('it runs what a model wrote')
  if (bundled.isolated) return toIsolated(manifest, bundled, bundled.isolated, deps)
  const registered = register(manifest, bundled)
  const protocols = detectProtocols(manifest, registered)
  const parts = toHosted(registered)
  const { hash, files } = bundled
  return { manifest, tier: 'builtin', granted: manifest.grants, hash, files, parts, protocols }
}

const noLoader = (what: string) =>
  new IsolaError(
    'plugin_isolate_unavailable',
    `${what} in an isolate, and this deployment has no Worker Loader: add [[worker_loaders]] with ` +
      'binding = "LOADER" to wrangler.toml (a paid Workers plan) and deploy again',
  )

/** Wires a plugin by its manifest alone: its code runs only in its isolate, at the first call. */
function toIsolated(
  manifest: Manifest,
  { hash, files }: BundledPlugin,
  isolated: IsolatedCode,
  { isolates }: LoadPluginsDeps,
): LoadedPlugin {
  refuseLater(manifest)
  if (!isolates && manifest.entrypoint !== undefined) throw noLoader('it runs')
  const hasCode = manifest.entrypoint !== undefined
  const parts = (hasCode && isolates?.partsOf({ ...isolated, manifest, hash })) || {}
  const { tier, isInstalled, isTold, grantEpoch, granted = manifest.grants } = isolated
  return {
    manifest,
    tier,
    ...(isInstalled && { grantEpoch }),
    granted,
    hash,
    files,
    parts,
    protocols: protocolsOf(manifest),
    ...(isTold && { isTold }),
  }
}

function register(manifest: Manifest, bundled: BundledPlugin): PluginParts {
  if (manifest.entrypoint === undefined) return {}
  if (typeof bundled.register !== 'function') {
    throw new IsolaError(
      'plugin_register_failed',
      `${manifest.entrypoint}: the default export must be the register function`,
    )
  }
  let parts: unknown
  try {
    // A copy: a plugin that writes to its config must not change the manifest.
    parts = bundled.register({
      id: manifest.id,
      version: manifest.version,
      config: toJson(manifest.config) as JsonObject,
    })
  } catch (error) {
    throw new IsolaError(
      'plugin_register_failed',
      `register() failed: ${headOf(errorMessage(error), 500)}`,
      { cause: error },
    )
  }
  if (isPartsObject(parts)) return parts
  throw new IsolaError(
    'plugin_register_failed',
    'register() must return an object at once, such as { tools: { … } }',
  )
}

/**
 * Wraps a plugin's parts. Hooks answer for all events of a moment at once, as in an isolate, and get a copy of them.
 */
function toHosted(parts: PluginParts): HostedParts {
  const { tools, agent, schedule, hooks, resources, prompts, providers } = parts
  const batched = Object.entries(hooks ?? {}).map(([on, hook]) => {
    const run: NonNullable<HostedParts['hooks']>[string] = (events, capabilities) =>
      runHookBatch(hook, toJson(events) as unknown as readonly HookEvent[], capabilities)
    return [on, run] as const
  })
  return {
    ...defined({ tools, agent, schedule }),
    resources: toFunctions(resources),
    prompts: toFunctions(prompts),
    providers: toFunctions(providers),
    hooks: Object.fromEntries(batched),
  }
}

type OfferFunction = (input: never, capabilities: Capabilities) => Promise<unknown>

/** The input was checked against the manifest: texts by name; a resource also gets its `uri`. */
function toFunctions(
  functions: Readonly<Record<string, OfferFunction>> = {},
): Readonly<Record<string, HostedFunction>> {
  const hosted = Object.entries(functions).map(([name, run]) => {
    const called: HostedFunction = (input, capabilities) => run(input as never, capabilities)
    return [name, called] as const
  })
  return Object.fromEntries(hosted)
}

function toProblem(error: unknown): Omit<PluginProblem, 'plugin'> {
  if (error instanceof IsolaError && error.code.startsWith('plugin_')) {
    return { code: error.code, message: error.message }
  }
  return { code: 'plugin_register_failed', message: headOf(errorMessage(error), 500) }
}
