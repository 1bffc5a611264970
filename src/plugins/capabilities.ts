import {
  ToolError,
  type Capabilities,
  type PluginDatabase,
  type PluginIsolate,
  type PluginMemory,
  type PluginRequest,
  type PluginStorage,
  type PluginTools,
} from '#contracts/plugin.ts'
import { levelOf } from '#contracts/log-level.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Usage } from '#contracts/lease.ts'
import type { MemoryClient } from '#contracts/memory.ts'
import type { OutsideAddress } from '#contracts/network-rule.ts'
import type { SessionGateway } from '#contracts/session.ts'
import type { ReadSecrets } from '#contracts/secrets.ts'
import type { Clock, Ids } from '#contracts/sources.ts'
import type { SchemaValidator, ToolContext } from '#contracts/tool.ts'
import { spanIdOf, toTraceparent } from '#contracts/trace.ts'
import { createPluginModel, type ModelTerms } from './ask-model.ts'
import { createCallEnd, type CallEnd } from './call-end.ts'
import { createPluginTools } from './call-tools.ts'
import { createEgress, type FetchFunction } from './egress.ts'
import { createOpenNow, type NetworkNow } from './open-network.ts'
import { createGrantedDatabase, type PluginDatabases } from './granted-database.ts'
import {
  createGrantedIsolate,
  type GrantedIsolate,
  type ModelCodeRunner,
} from './granted-isolate.ts'
import {
  createGrantedStorage,
  parseQuotaBytes,
  withSafeErrors,
  type AskStorage,
} from './granted-storage.ts'
import { createPluginRequest, type OnAsk } from './plugin-request.ts'
import type { FaultReport } from './fault-report.ts'
import type { TakeLeave } from './standing.ts'
import { spaceOf, type ScopedStorage } from './scoped-storage.ts'
import type { LoadedPlugin } from './in-process-host.ts'
import type { IsolateMeter } from './isolate/isolate-meter.ts'
import { createCallSecrets, type CallSecrets } from './secrets/call-secrets.ts'
import { createPluginSecrets } from './secrets/secret-capability.ts'

const maxLogChars = 2_000
const maxLogsPerCall = 200

export interface CapabilityDeps {
  readonly sessions: SessionGateway
  /** The memory room's scratchpad over the storage verbs. */
  readonly createMemory: (ask: AskStorage) => MemoryClient
  readonly fetch: FetchFunction
  readonly readSecrets: ReadSecrets
  readonly ids: Pick<Ids, 'next'>
  readonly scopedStorage: Pick<ScopedStorage, 'ofPrincipal' | 'ofPlugin'>
  readonly sleep: Clock['sleep']
  readonly isDevelopment: boolean
  readonly network: NetworkNow
  readonly databases: PluginDatabases
  /** Absent where there are no isolates. */
  readonly modelCode?: ModelCodeRunner
  readonly sha256: (text: string) => string
  /** Checks what a person answered against the schema of what was asked. */
  readonly validator: SchemaValidator
  /** Absent where no plugin can be switched off. */
  readonly takeLeave?: TakeLeave
  readonly faults?: FaultReport
  /** Absent where isolates cost nothing. */
  readonly meter?: IsolateMeter
}

/** Capabilities of one call and the way to end them. */
export interface OpenCapabilities {
  readonly capabilities: Capabilities
  /** After this every function rejects and the signal has fired. */
  readonly close: () => void
  /** What the call spent beside tools and models, which are counted where they are asked. */
  readonly spent: () => Usage | undefined
}

export interface OpenOptions {
  readonly as?: 'tool' | 'agent' | undefined
  /** Where the call goes by its input. */
  readonly goesTo?: OutsideAddress | undefined
  /** Ends the call until there are answers; absent where a call cannot wait. */
  readonly onAsk?: OnAsk
}

/** Builds what a plugin may do within one call: exactly its grants, dead after the call (DESIGN.md section 8). */
export function openCapabilities(
  plugin: LoadedPlugin,
  context: ToolContext,
  deps: CapabilityDeps,
  { as = 'tool', onAsk, goesTo }: OpenOptions = {},
): OpenCapabilities {
  const over = createCallEnd()
  const ask = withSafeErrors((request) => deps.sessions.at(context.rootSession).storage(request))
  const guard = createGuard(over)
  const log = createLog(context, over)
  const refuse = createRefuse(context)
  const secrets = createCallSecrets(plugin.granted.secrets, context, deps)
  // Made when they are first read: most calls read one or two.
  const made: { -readonly [K in keyof Capabilities]?: Capabilities[K] } = {}
  const signalOf = () => (made.signal ??= AbortSignal.any([context.signal, over.signal()]))
  const granted: { isolate?: ReturnType<typeof createIsolate> } = {}
  const isolateOf = (tools: PluginTools) =>
    (granted.isolate ??= createIsolate(plugin, {
      context: { ...context, signal: signalOf() },
      deps,
      tools,
      refuse,
    }))
  const capabilities: Capabilities = {
    get fetch() {
      return (made.fetch ??= guard(
        createPluginFetch(plugin, context, { ...deps, signal: signalOf(), secrets, goesTo }),
      ))
    },
    get storage() {
      const options = { ask, context, deps, refuse }
      return (made.storage ??= guardAll(guard, createPluginStorage(plugin, options)))
    },
    get workspace() {
      return (made.workspace ??= guardAll(guard, createWorkspace(plugin, ask, refuse)))
    },
    get memory() {
      return (made.memory ??= guardAll(guard, createMemory(plugin, ask, { ...deps, refuse })))
    },
    get secrets() {
      const { ref, ...signing } = createPluginSecrets(secrets)
      return (made.secrets ??= { ref, ...guardAll(guard, signing) })
    },
    get tools() {
      return (made.tools ??= guardAll(guard, createPluginTools(context)))
    },
    get model() {
      const terms = termsOf(plugin, as)
      return (made.model ??= guardAll(guard, createPluginModel(context, terms, refuse('model'))))
    },
    get database() {
      return (made.database ??= guardAll(guard, createDatabase(plugin, deps.databases, refuse)))
    },
    get isolate() {
      return (made.isolate ??= guardAll(guard, isolateOf(this.tools).isolate))
    },
    idempotencyKey: context.idempotencyKey,
    get request() {
      const options = { granted: plugin.granted.request, context, deps, refuse, onAsk }
      return (made.request ??= guardAll(guard, createPluginRequest(options)) as PluginRequest)
    },
    log: (message, level) => log('tool_log', message, toLevel(level)),
    progress: (message, at) => log('tool_progress', message, toNumbers(at)),
    get signal() {
      return signalOf()
    },
  }
  return {
    capabilities,
    spent: () => granted.isolate?.spent(),
    close: over.end,
  }
}

type Guard = <A extends unknown[], R>(run: (...args: A) => Promise<R>) => (...args: A) => Promise<R>

/** A function kept beyond its call must not work, nor answer late. */
function createGuard(over: CallEnd): Guard {
  return (run) =>
    async (...args) => {
      over.throwIfAborted()
      const answer = await run(...args)
      over.throwIfAborted()
      return answer
    }
}

function guardAll<T extends object>(guard: Guard, functions: T): T {
  const guarded = Object.entries(functions).map(([name, run]) => [name, guard(run as never)])
  return Object.fromEntries(guarded) as T
}

function createLog(context: ToolContext, over: CallEnd) {
  let count = 0
  return (type: 'tool_log' | 'tool_progress', message: string, more: JsonObject): void => {
    count += 1
    if (over.isOver() || count > maxLogsPerCall) return
    const text = String(message).slice(0, maxLogChars)
    context.emit({ type, data: { call: context.call, message: text, ...more } })
  }
}

/** What is no level, or no number, is left out: these are words for people, not a reason to fail. */
const toLevel = (level: unknown): JsonObject => {
  const known = levelOf(level)
  return known === undefined ? {} : { level: known }
}

function toNumbers(at: unknown): JsonObject {
  const { progress, total } = Object(at) as {
    readonly progress?: unknown
    readonly total?: unknown
  }
  if (typeof progress !== 'number' || !Number.isFinite(progress)) return {}
  const isTotal = typeof total === 'number' && Number.isFinite(total)
  return { progress, ...(isTotal && { total }) }
}

function createPluginFetch(
  { granted, tier }: LoadedPlugin,
  context: ToolContext,
  deps: CapabilityDeps & {
    readonly signal: AbortSignal
    readonly secrets: CallSecrets
    readonly goesTo: OutsideAddress | undefined
  },
): Capabilities['fetch'] {
  const grants = granted.network
  if (grants.length === 0) return createRefuse(context)('network')
  const { emit, idempotencyKey, run, call, trace, traceLink: link, isApproved } = context
  return createEgress({
    grants,
    tier,
    isDevelopment: deps.isDevelopment,
    openNow: createOpenNow(deps.network, isApproved ? deps.goesTo : undefined),
    fetch: deps.fetch,
    emit,
    secrets: deps.secrets,
    sleep: deps.sleep,
    idempotencyKey,
    traceparent: toTraceparent({ trace, span: spanIdOf(deps.sha256, run, call), link }),
    signal: deps.signal,
  })
}

function createPluginStorage(
  { manifest, granted }: LoadedPlugin,
  {
    ask,
    context,
    deps,
    refuse,
  }: {
    readonly ask: AskStorage
    readonly context: ToolContext
    readonly deps: CapabilityDeps
    readonly refuse: Refuse
  },
): PluginStorage {
  const grant = granted.storage
  if (!grant) return refusedStorage(refuse('storage'))
  const { ofPrincipal, ofPlugin } = deps.scopedStorage
  const asks: Readonly<Record<typeof grant.scope, () => AskStorage>> = {
    session: () => ask,
    principal: () => withSafeErrors(ofPrincipal(context.principal)),
    deployment: () => withSafeErrors(ofPlugin(manifest.id)),
  }
  return createGrantedStorage({
    space: spaceOf(manifest.id),
    quotaBytes: parseQuotaBytes(grant.quota),
    ask: asks[grant.scope](),
  })
}

/** Workspace and memory belong to the whole session tree: only code that ships with the deployment may have them. */
function createWorkspace(
  { granted, tier }: LoadedPlugin,
  ask: AskStorage,
  refuse: Refuse,
): PluginStorage {
  if (!granted.workspace || tier !== 'builtin') return refusedStorage(refuse('workspace'))
  return createGrantedStorage({ space: 'workspace', quotaBytes: parseQuotaBytes(), ask })
}

function createMemory(
  { granted, tier }: LoadedPlugin,
  ask: AskStorage,
  { createMemory: create, refuse }: Pick<CapabilityDeps, 'createMemory'> & { refuse: Refuse },
): PluginMemory {
  if (granted.memory && tier === 'builtin') return create(ask)
  const run = refuse('memory')
  return { append: run, read: run, search: run, clear: run }
}

/** A tool asks the models it was granted; an agent with code of its own asks its own, and those. */
function termsOf({ manifest, granted }: LoadedPlugin, as: 'tool' | 'agent'): ModelTerms {
  const models = granted.model?.models
  const { model: own } = manifest.agent ?? {}
  if (as === 'tool' || own === undefined) return { models }
  // What the operator was shown is the model it runs on: any other is named in the grant.
  if (granted.model) return { preferred: own, ...(models && { models: [own, ...models] }) }
  return { preferred: own, models: [own] }
}

function createDatabase(
  { granted, tier }: LoadedPlugin,
  databases: PluginDatabases,
  refuse: Refuse,
): PluginDatabase {
  if (!granted.database || tier !== 'builtin') return { query: refuse('database') }
  return createGrantedDatabase(granted.database, databases)
}

function createIsolate(
  { granted, tier, manifest: { id: plugin, version } }: LoadedPlugin,
  {
    context,
    deps,
    tools,
    refuse,
  }: {
    readonly context: ToolContext
    readonly deps: CapabilityDeps
    readonly tools: PluginTools
    readonly refuse: Refuse
  },
): GrantedIsolate {
  const none = (run: PluginIsolate['run']) => ({ isolate: { run }, spent: () => undefined })
  if (!granted.isolate || tier !== 'builtin') return none(refuse('isolate'))
  if (!deps.modelCode) return none(fail('This deployment has no isolates (no Worker Loader).'))
  return createGrantedIsolate(deps.modelCode, context, { tools, record: { plugin, version, tier } })
}

/** What was not granted says so to whoever asks, and once a call to the record. */
type Refuse = (capability: string) => () => Promise<never>

function createRefuse({ call, emit }: ToolContext): Refuse {
  return (capability) => {
    const told = { isOnRecord: false }
    return async () => {
      if (!told.isOnRecord) emit({ type: 'capability_refused', data: { call, capability } })
      told.isOnRecord = true
      return fail(`not granted: ${capability} (add it to grants in plugin.yaml)`)()
    }
  }
}

function fail(message: string): () => Promise<never> {
  return async () => {
    throw new ToolError('tool_failed', { message })
  }
}

function refusedStorage(run: () => Promise<never>): PluginStorage {
  return { get: run, set: run, delete: run, list: run }
}
