// Each capability that a grant opens; without its grant it refuses.

import {
  ToolError,
  type PluginStorage,
  type Capabilities,
  type PluginDatabase,
  type PluginIsolate,
  type PluginMemory,
  type PluginTools,
} from '#contracts/plugin.ts'
import type { ToolContext } from '#contracts/tool.ts'
import type { StreamOf } from '../types/memory.ts'
import type { OutsideAddress } from '#contracts/network-rule.ts'
import { spanIdOf } from '#contracts/span-id.ts'
import { toTraceparent } from '#runtime/session/types/trace.ts'
import type { ModelTerms } from './ask-model.ts'
import type { CapabilityDeps } from './capability-deps.ts'
import { createEgress } from './egress.ts'
import { createGrantedDatabase, type PluginDatabases } from './storage/granted-database.ts'
import { createGrantedIsolate, type GrantedIsolate } from './granted-isolate.ts'
import {
  createGrantedStorage,
  parseQuotaBytes,
  withSafeErrors,
  type AskStorage,
} from './storage/granted-storage.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import type { LongTermPart } from './long-term-memory.ts'
import { createMayFollow, createOpenNow } from './open-network.ts'
import { spaceOf } from './storage/scoped-storage.ts'
import type { CallSecrets } from '../secrets/call-secrets.ts'

/** Refuses a capability that was not granted: the plugin gets an error each time, the record one event a call. */
type Refuse = (capability: string) => () => Promise<never>

/** Refuses by the name of the capability: `not granted: network`. */
export function createRefuse({ call, emit }: ToolContext): Refuse {
  return (capability) => {
    const told = { isOnRecord: false }
    return async () => {
      if (!told.isOnRecord) emit({ type: 'capability_refused', data: { call, capability } })
      told.isOnRecord = true
      return fail(`not granted: ${capability} (add it to grants in plugin.yaml)`)()
    }
  }
}

/** A function that rejects with `tool_failed` and this message. */
function fail(message: string): () => Promise<never> {
  return async () => {
    throw new ToolError('tool_failed', { message })
  }
}

/** Storage whose every verb refuses. */
function refusedStorage(run: () => Promise<never>): PluginStorage {
  return { get: run, set: run, delete: run, list: run }
}

/** `fetch`: the egress over `grants.network`. */
export function createPluginFetch(
  { granted, tier }: LoadedPlugin,
  context: ToolContext,
  deps: CapabilityDeps & {
    readonly signal: AbortSignal
    readonly secrets: CallSecrets
    readonly goesTo: OutsideAddress | undefined
    /** Called with the host of a redirect. */
    readonly onRedirect: ((host: string) => void) | undefined
  },
): Capabilities['fetch'] {
  const grants = granted.network
  if (grants.length === 0) return createRefuse(context)('network')
  const { emit, idempotencyKey, run, call, trace, traceLink: link, isApproved } = context
  return createEgress({
    grants,
    tier,
    openNow: createOpenNow(deps.network, isApproved ? deps.goesTo : undefined),
    mayFollow: createMayFollow(deps.network, context.label),
    onRedirect: deps.onRedirect,
    send: deps.send,
    emit,
    secrets: deps.secrets,
    idempotencyKey,
    traceparent: toTraceparent({ trace, span: spanIdOf(run, call), link }),
    signal: deps.signal,
  })
}

/** `storage`: in the scope of the grant, within its quota. */
export function createPluginStorage(
  { manifest, granted }: LoadedPlugin,
  {
    ask,
    context,
    deps,
    refuse,
    labelled,
    reaching,
  }: {
    readonly ask: AskStorage
    readonly labelled: (ask: AskStorage) => AskStorage
    /** Marks a read of a space that other principals write too. */
    readonly reaching: (ask: AskStorage) => AskStorage
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
    principal: () => labelled(withSafeErrors(ofPrincipal(context.principal))),
    deployment: () => reaching(labelled(withSafeErrors(ofPlugin(manifest.id)))),
  }
  return createGrantedStorage({
    space: spaceOf(manifest.id),
    quotaBytes: parseQuotaBytes(grant.quota),
    ask: asks[grant.scope](),
  })
}

/** All plugins of a session share its workspace and memory: only code that ships with the deployment may have them. */
export function createWorkspace(
  { granted, tier }: LoadedPlugin,
  ask: AskStorage,
  refuse: Refuse,
): PluginStorage {
  if (!granted.workspace || tier !== 'builtin') return refusedStorage(refuse('workspace'))
  return createGrantedStorage({ space: 'workspace', quotaBytes: parseQuotaBytes(), ask })
}

/** `memory`: the scratchpad of the session, and long-term memory. */
export function createMemory(
  { granted, tier }: LoadedPlugin,
  ask: AskStorage,
  {
    createMemory: create,
    memoryOf,
    context,
    refuse,
    longTerm,
  }: Pick<CapabilityDeps, 'createMemory' | 'memoryOf'> & {
    context: ToolContext
    refuse: Refuse
    longTerm: () => LongTermPart
  },
): PluginMemory {
  const streamOf: StreamOf = async (name) => {
    const { streams = {} } = (await memoryOf(context.agent, context)) ?? {}
    const bounds = Object.hasOwn(streams, name) ? streams[name] : undefined
    if (bounds) return { space: `memory ${context.agent} ${name}`, ...bounds }
    const names = Object.keys(streams).join(', ')
    const message = `stream: this agent has ${names === '' ? 'none' : names}.`
    throw new ToolError('tool_failed', { message })
  }
  if (granted.memory && tier === 'builtin') return { ...create(ask, streamOf), ...longTerm() }
  const run = refuse('memory')
  return {
    append: run,
    read: run,
    search: run,
    clear: run,
    remember: run,
    recall: run,
    forget: run,
  }
}

/** A tool may use the models of its grant; an agent with code of its own uses its own model, and those. */
export function termsOf({ manifest, granted }: LoadedPlugin, as: 'tool' | 'agent'): ModelTerms {
  const models = granted.model?.models
  const { model: own } = manifest.agent ?? {}
  if (as === 'tool' || own === undefined) return { models }
  // The operator was shown the agent's own model; any other must be in the grant.
  if (granted.model) return { preferred: own, ...(models && { models: [own, ...models] }) }
  return { preferred: own, models: [own] }
}

/** `database`: the operator's database that the grant names. */
export function createDatabase(
  { granted, tier }: LoadedPlugin,
  databases: PluginDatabases,
  refuse: Refuse,
): PluginDatabase {
  if (!granted.database || tier !== 'builtin') return { query: refuse('database') }
  return createGrantedDatabase(granted.database, databases)
}

/** `isolate`: runs code that a model wrote, with the plugin's own tools. */
export function createIsolate(
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
