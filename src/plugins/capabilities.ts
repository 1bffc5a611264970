import {
  ToolError,
  type Capabilities,
  type PluginDatabase,
  type PluginIsolate,
  type PluginMemory,
  type PluginStorage,
  type PluginTools,
} from '#contracts/plugin.ts'
import type { Usage } from '#contracts/lease.ts'
import type { MemoryClient } from '#contracts/memory.ts'
import type { SessionGateway } from '#contracts/session.ts'
import type { ReadSecrets } from '#contracts/secrets.ts'
import type { Clock } from '#contracts/sources.ts'
import type { ToolContext } from '#contracts/tool.ts'
import { spanIdOf, toTraceparent } from '#contracts/trace.ts'
import { createPluginModel, type ModelTerms } from './ask-model.ts'
import { createPluginTools } from './call-tools.ts'
import { createEgress, type FetchFunction } from './egress.ts'
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
import type { FaultReport } from './fault-report.ts'
import type { TakeLeave } from './standing.ts'
import { spaceOf, type ScopedStorage } from './scoped-storage.ts'
import type { LoadedPlugin } from './in-process-host.ts'
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
  readonly scopedStorage: Pick<ScopedStorage, 'ofPrincipal' | 'ofPlugin'>
  readonly sleep: Clock['sleep']
  readonly isDevelopment: boolean
  readonly databases: PluginDatabases
  /** Absent where there are no isolates. */
  readonly modelCode?: ModelCodeRunner
  readonly sha256: (text: string) => string
  /** Absent where no plugin can be switched off. */
  readonly takeLeave?: TakeLeave
  readonly faults?: FaultReport
}

/** Capabilities of one call and the way to end them. */
export interface OpenCapabilities {
  readonly capabilities: Capabilities
  /** After this every function rejects and the signal has fired. */
  readonly close: () => void
  /** What the call spent beside tools and models, which are counted where they are asked. */
  readonly spent: () => Usage | undefined
}

/** Builds what a plugin may do within one call: exactly its grants, dead after the call (DESIGN.md section 8). */
export function openCapabilities(
  plugin: LoadedPlugin,
  context: ToolContext,
  deps: CapabilityDeps,
  as: 'tool' | 'agent' = 'tool',
): OpenCapabilities {
  const over = new AbortController()
  const signal = AbortSignal.any([context.signal, over.signal])
  const ask = withSafeErrors((request) => deps.sessions.at(context.rootSession).storage(request))
  const guard = createGuard(over.signal)
  const log = createLog(context, over.signal)
  const refuse = createRefuse(context)
  const secrets = createCallSecrets(plugin.granted.secrets, context, deps.readSecrets)
  const { ref, ...signing } = createPluginSecrets(secrets)
  const tools = guardAll(guard, createPluginTools(context))
  const { isolate, spent } = createIsolate(plugin, {
    context: { ...context, signal },
    deps,
    tools,
    refuse,
  })
  const capabilities: Capabilities = {
    fetch: guard(createPluginFetch(plugin, context, { ...deps, signal, secrets })),
    storage: guardAll(guard, createPluginStorage(plugin, { ask, context, deps, refuse })),
    workspace: guardAll(guard, createWorkspace(plugin, ask, refuse)),
    memory: guardAll(guard, createMemory(plugin, ask, { ...deps, refuse })),
    secrets: { ref, ...guardAll(guard, signing) },
    tools,
    model: guardAll(guard, createPluginModel(context, termsOf(plugin, as), refuse('model'))),
    database: guardAll(guard, createDatabase(plugin, deps.databases, refuse)),
    isolate: guardAll(guard, isolate),
    idempotencyKey: context.idempotencyKey,
    log: (message) => log('tool_log', message),
    progress: (message) => log('tool_progress', message),
    signal,
  }
  return {
    capabilities,
    spent,
    close: () => over.abort(new ToolError('tool_failed', { message: 'This call is over.' })),
  }
}

type Guard = <A extends unknown[], R>(run: (...args: A) => Promise<R>) => (...args: A) => Promise<R>

/** A function kept beyond its call must not work, nor answer late. */
function createGuard(over: AbortSignal): Guard {
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

function createLog(context: ToolContext, over: AbortSignal) {
  let count = 0
  return (type: 'tool_log' | 'tool_progress', message: string): void => {
    count += 1
    if (over.aborted || count > maxLogsPerCall) return
    context.emit({
      type,
      data: { call: context.call, message: String(message).slice(0, maxLogChars) },
    })
  }
}

function createPluginFetch(
  { granted, tier }: LoadedPlugin,
  context: ToolContext,
  deps: CapabilityDeps & { readonly signal: AbortSignal; readonly secrets: CallSecrets },
): Capabilities['fetch'] {
  const grants = granted.network
  if (grants.length === 0) return createRefuse(context)('network')
  const { emit, idempotencyKey, run, call, trace, traceLink: link } = context
  return createEgress({
    grants,
    tier,
    isDevelopment: deps.isDevelopment,
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
  return { preferred: own, ...(models && { models: [own, ...models] }) }
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
  { granted, tier }: LoadedPlugin,
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
  return createGrantedIsolate(deps.modelCode, context, tools)
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
