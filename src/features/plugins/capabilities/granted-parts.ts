// Each capability that a grant opens; without its grant it refuses.
import type {
  Capabilities,
  PluginDatabase,
  PluginIsolate,
  PluginMemory,
  PluginStorage,
  PluginTools,
} from '#features/plugins/types/plugin.ts'
import type { StreamOf } from '../types/memory.ts'
import type { OutsideAddress } from '#contracts/destination.ts'
import type { ToolContext } from '#contracts/tool.ts'
import { spanIdOf } from '#contracts/trace.ts'
import { toTraceparent } from '#runtime/session/types/telemetry.ts'
import type { ModelTerms } from './ask-model.ts'
import { createEgress, type EgressOptions } from './egress.ts'
import { createGrantedDatabase } from './storage/granted-database.ts'
import { createGrantedIsolate, type GrantedIsolate } from './granted-isolate.ts'
import { createGrantedStorage, withSafeErrors, type AskStorage } from './storage/granted-storage.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import type { LongTermPart } from './long-term-memory.ts'
import { createMayFollow, createOpenNow } from './open-network.ts'
import type { Refuse, CallParts } from './capability-deps.ts'
import { spaceOf } from './storage/scoped-storage.ts'
import { failed } from '../types/plugin-output.ts'

/** Refuses by the name of the capability: `not granted: network`. */
export function createRefuse({ call, emit }: ToolContext): Refuse {
  return (capability) => {
    const told = { isOnRecord: false }
    return async () => {
      if (!told.isOnRecord) emit({ type: 'capability_refused', data: { call, capability } })
      told.isOnRecord = true
      throw failed(`not granted: ${capability} (add it to grants in plugin.yaml)`)
    }
  }
}

/** Storage whose every verb refuses. */
const refusedStorage = (run: () => Promise<never>): PluginStorage => ({
  get: run,
  set: run,
  delete: run,
  list: run,
})

/** `fetch`: the egress over `grants.network`. */
export function createPluginFetch(
  { plugin: { granted, tier }, context, deps, refuse }: CallParts,
  {
    goesTo,
    ...call
  }: Pick<EgressOptions, 'signal' | 'secrets' | 'onRedirect'> & {
    readonly goesTo: OutsideAddress | undefined
  },
): Capabilities['fetch'] {
  const grants = granted.network
  if (grants.length === 0) return refuse('network')
  const { emit, idempotencyKey, trace, traceLink: link, isApproved } = context
  return createEgress({
    grants,
    tier,
    openNow: createOpenNow(deps.network, isApproved ? goesTo : undefined),
    mayFollow: createMayFollow(deps.network, context.label),
    send: deps.send,
    emit,
    idempotencyKey,
    traceparent: toTraceparent({ trace, span: spanIdOf(context.run, context.call), link }),
    ...call,
  })
}

/** `storage`: in the scope of the grant, within its quota. */
export function createPluginStorage(
  { plugin: { manifest, granted }, context, deps, refuse, labels }: CallParts,
  ask: AskStorage,
): PluginStorage {
  const grant = granted.storage
  if (!grant) return refusedStorage(refuse('storage'))
  const { ofPrincipal, ofPlugin } = deps.scopedStorage
  const labelled = (one: AskStorage) => labels?.wrap(withSafeErrors(one)) ?? withSafeErrors(one)
  const asks: Readonly<Record<typeof grant.scope, () => AskStorage>> = {
    session: () => ask,
    principal: () => labelled(ofPrincipal(context.principal)),
    // Other principals write to this space too.
    deployment: () => reaching(labels, labelled(ofPlugin(manifest.id))),
  }
  return createGrantedStorage(spaceOf(manifest.id), asks[grant.scope](), grant.quota)
}

/** A function that goes out, or reads values that other principals write too: its call's labels say so. */
export const reaching =
  <Args extends readonly unknown[], T>(
    labels: CallParts['labels'],
    run: (...args: Args) => T,
  ): ((...args: Args) => T) =>
  (...args) => {
    labels?.reach()
    return run(...args)
  }

/** All plugins of a session share its workspace and memory: only code that ships with the deployment may have them. */
export function createWorkspace(
  { plugin: { granted, tier }, refuse }: CallParts,
  ask: AskStorage,
): PluginStorage {
  if (!granted.workspace || tier !== 'builtin') return refusedStorage(refuse('workspace'))
  return createGrantedStorage('workspace', ask)
}

/** `memory`: the scratchpad of the session, and long-term memory. */
export function createMemory(
  { plugin: { granted, tier }, context, deps, refuse }: CallParts,
  ask: AskStorage,
  longTerm: () => LongTermPart,
): PluginMemory {
  const streamOf: StreamOf = async (name) => {
    const { streams = {} } = (await deps.memoryOf(context.agent, context)) ?? {}
    const bounds = Object.hasOwn(streams, name) ? streams[name] : undefined
    if (bounds) return { space: `memory ${context.agent} ${name}`, ...bounds }
    const names = Object.keys(streams).join(', ')
    throw failed(`stream: this agent has ${names === '' ? 'none' : names}.`)
  }
  if (granted.memory && tier === 'builtin')
    return { ...deps.createMemory(ask, streamOf), ...longTerm() }
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
export function createDatabase({
  plugin: { granted, tier },
  deps,
  refuse,
}: CallParts): PluginDatabase {
  if (!granted.database || tier !== 'builtin') return { query: refuse('database') }
  return createGrantedDatabase(granted.database, deps.databases)
}

/** `isolate`: runs code that a model wrote, with the plugin's own tools. */
export function createIsolate(
  { plugin: { granted, tier, manifest }, context, deps, refuse }: CallParts,
  { signal, tools }: { readonly signal: AbortSignal; readonly tools: PluginTools },
): GrantedIsolate {
  const none = (run: PluginIsolate['run']) => ({ isolate: { run }, spent: () => undefined })
  if (!granted.isolate || tier !== 'builtin') return none(refuse('isolate'))
  if (!deps.modelCode)
    return none(async () => {
      throw failed('This deployment has no isolates (no Worker Loader).')
    })
  const record = { plugin: manifest.id, version: manifest.version, tier }
  return createGrantedIsolate(deps.modelCode, { ...context, signal }, { tools, record })
}
