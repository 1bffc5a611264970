import type { Manifest } from '#contracts/manifest/manifest.ts'
import type { IsolatedCode } from '../types/manifest.ts'
import type { PluginFacts } from '#runtime/catalog/types/part-kind.ts'
import type { Capabilities } from '#features/plugins/types/plugin.ts'
import {
  defaultHookTimeoutMs,
  defaultTimeoutMs,
  inspectTimeoutMs,
  maxOutputBytes,
  scheduleTimeoutMs,
} from './call-limits.ts'
import { detectProtocols, type HostedFunction, type HostedParts } from './plugin-parts.ts'
import { nonceIn } from '../secrets/placeholder.ts'
import { readAnswer } from './answer.ts'
import { refusal } from './call-gate.ts'
import { createHostStubs } from './host-stubs.ts'
import type { CallStubs } from './inside/capabilities.ts'
import { toIsolateId, type IsolateUse } from './isolate-id.ts'
import type { RunnerRequest } from './run-call.ts'

/** `PluginRunner` as the session's object sees it. */
export interface PluginRunnerStub {
  readonly run: (
    request: RunnerRequest,
    port: CallStubs['port'],
    fetcher: CallStubs['fetcher'],
    closed: CallStubs['closed'],
  ) => Promise<string>
}

/** The Runner, and the parts of an isolate's id. */
export interface IsolateHostDeps {
  readonly runner: () => PluginRunnerStub
  readonly sha256: (text: string) => string
  /** `isolateVersion` of our own modules. */
  readonly shimVersion: string
  /** Whether all principals share one isolate of a trusted plugin; if absent, no plugin is shared. */
  readonly sharesIsolate?: (plugin: string) => boolean
}

/** A plugin that runs in an isolate. */
export interface IsolatedPlugin extends IsolatedCode {
  readonly manifest: Manifest
  readonly hash: string
}

/** The host for isolates: the same parts as in-process, each a call of the Runner. */
export interface IsolateHost {
  /** By the manifest alone: no code runs. */
  readonly partsOf: (plugin: IsolatedPlugin) => HostedParts
  /**
   * Registers the code in an isolate of its own and compares the parts with the manifest.
   * @throws `plugin_contract_mismatch`, or what `readAnswer` throws.
   */
  readonly inspect: (plugin: IsolatedPlugin) => Promise<PluginFacts>
}

/** Some more, for the envelope around the value. */
const maxChars = maxOutputBytes + 1_024
/** Extra time of the Runner's own deadline, which is only needed if the session's object is gone. Milliseconds. */
const graceMs = 2_000

/**
 * Runs plugins in isolates: the same parts as in-process, each call through the Runner. Failures have `tool_` codes.
 */
export function createIsolateHost(host: IsolateHostDeps): IsolateHost {
  return {
    partsOf: (plugin) => {
      const { manifest, runsOwnAgent = true } = plugin
      const deps = { ...host, idOf: rememberIds(host, plugin) }
      const { tools, resources, prompts } = manifest.contributes
      const providers = manifest.contributes.providers.map((name) => ({ name }))
      const isAgent =
        manifest.agent !== undefined && manifest.entrypoint !== undefined && runsOwnAgent
      const hooks = manifest.contributes.hooks.map(({ on }) => [on, toHook(deps, plugin, on)])
      const isScheduled = manifest.schedule !== undefined
      return {
        isolateId: deps.idOf,
        tools: toNamed(deps, plugin, 'tool', tools),
        resources: toNamed(deps, plugin, 'resource', resources),
        prompts: toNamed(deps, plugin, 'prompt', prompts),
        providers: toNamed(deps, plugin, 'provider', providers),
        hooks: Object.fromEntries(hooks),
        ...(isAgent && { agent: { invoke: toInvoke(deps, plugin) } }),
        ...(isScheduled && { schedule: { execute: toExecute(deps, plugin) } }),
      }
    },
    inspect: async (plugin) => {
      const deps = { ...host, idOf: rememberIds(host, plugin) }
      const answer = await call(deps, plugin, {
        work: { do: 'inspect' },
        idempotencyKey: '',
        nonce: '',
        stubs: noStubs,
        use: { rootSession: '', principal: '' },
        timeoutMs: inspectTimeoutMs,
      })
      const parts = toParts(answer)
      detectProtocols(plugin.manifest, parts)
      return { runsOwnAgent: 'agent' in parts }
    },
  }
}

/** The host of one plugin. */
interface Hosting extends IsolateHostDeps {
  readonly idOf: (use: IsolateUse) => string
}

const maxRemembered = 200

/**
 * The id of a plugin's isolate for its user (session tree or principal). Remembered, because hashing it takes longer
 * than hashing a call's input.
 */
function rememberIds(
  { sha256, shimVersion, sharesIsolate }: IsolateHostDeps,
  { manifest, hash, tier, grantEpoch }: IsolatedPlugin,
): Hosting['idOf'] {
  const { id: plugin, config } = manifest
  const isShared = sharesIsolate?.(plugin) === true
  const identity = { plugin, hash, tier, config, grantEpoch, shimVersion, isShared }
  const ids = new Map<string, string>()
  return ({ rootSession, principal }) => {
    const name = `${rootSession} ${principal}`
    const known = ids.get(name)
    if (known !== undefined) return known
    const id = toIsolateId({ ...identity, rootSession, principal }, sha256)
    if (ids.size >= maxRemembered) ids.clear()
    ids.set(name, id)
    return id
  }
}

/** The functions that the manifest names, each a call of the function of that name. */
function toNamed(
  deps: Hosting,
  plugin: IsolatedPlugin,
  kind: 'tool' | 'resource' | 'prompt' | 'provider',
  declared: readonly { readonly name: string; readonly timeout_ms?: number | undefined }[],
): Readonly<Record<string, HostedFunction>> {
  const functions = declared.map(({ name, timeout_ms: timeoutMs = defaultTimeoutMs }) => {
    const run: HostedFunction = (input, can, { rootSession, principal, signal }) =>
      call(deps, plugin, {
        work: { do: kind, name, input },
        ...keysOf(can),
        stubs: createHostStubs(can, signal),
        use: { rootSession, principal },
        timeoutMs,
      })
    return [name, run] as const
  })
  return Object.fromEntries(functions)
}

function toInvoke(
  deps: Hosting,
  plugin: IsolatedPlugin,
): NonNullable<HostedParts['agent']>['invoke'] {
  return (request, can: Capabilities, { rootSession, principal, signal }) =>
    call(deps, plugin, {
      work: { do: 'agent', request },
      ...keysOf(can),
      stubs: createHostStubs(can, signal),
      use: { rootSession, principal },
      timeoutMs: plugin.manifest.agent?.limits.time_budget_ms ?? defaultTimeoutMs,
    })
}

/** One call of the isolate for all events. */
function toHook(
  deps: Hosting,
  plugin: IsolatedPlugin,
  on: string,
): NonNullable<HostedParts['hooks']>[string] {
  return (events, can, { rootSession, principal, signal }) =>
    call(deps, plugin, {
      work: { do: 'hook', on, events },
      ...keysOf(can),
      stubs: createHostStubs(can, signal),
      use: { rootSession, principal },
      timeoutMs: defaultHookTimeoutMs,
    })
}

function toExecute(
  deps: Hosting,
  plugin: IsolatedPlugin,
): NonNullable<HostedParts['schedule']>['execute'] {
  return (can, { rootSession, principal, signal }) =>
    call(deps, plugin, {
      work: { do: 'schedule' },
      ...keysOf(can),
      stubs: createHostStubs(can, signal),
      use: { rootSession, principal },
      timeoutMs: scheduleTimeoutMs,
    })
}

interface IsolateCall {
  readonly work: Readonly<Record<string, unknown>>
  readonly idempotencyKey: string
  /** The nonce of this call's secret placeholders. */
  readonly nonce: string
  readonly stubs: CallStubs
  readonly use: IsolateUse
  readonly timeoutMs: number
}

const keysOf = ({ idempotencyKey, secrets }: Capabilities) => ({
  idempotencyKey,
  nonce: nonceIn(secrets.ref),
})

async function call(
  { runner, idOf }: Hosting,
  { manifest, hash }: IsolatedPlugin,
  { work, idempotencyKey, nonce, stubs, use, timeoutMs }: IsolateCall,
): Promise<unknown> {
  const { id, version, config } = manifest
  let end: () => void = () => {}
  const ended = new Promise<void>((resolve) => (end = resolve))
  try {
    const answer = await runner().run(
      {
        isolate: idOf(use),
        plugin: hash,
        job: JSON.stringify({
          about: { id, version, config },
          work,
          idempotencyKey,
          nonce,
          maxChars,
        }),
        timeoutMs: timeoutMs + graceMs,
        maxChars,
      },
      stubs.port,
      stubs.fetcher,
      // Resolves after the answer too, so that a listener that still waits inside is released.
      () => Promise.race([stubs.closed(), ended]),
    )
    return readAnswer(answer, maxChars)
  } finally {
    end()
  }
}

/** A plugin that is only inspected may call nothing. */
const noStubs: CallStubs = {
  port: async () => refusal('Not in a call.'),
  fetcher: async () => refusal('Not in a call.'),
  closed: () => new Promise(() => {}),
}

/** The isolate's description of its parts, in the shape that the in-process host sees. */
function toParts(described: unknown): object {
  const { members, tools, resources, prompts, providers, hooks, execute, invoke } = Object(
    described,
  ) as Record<string, unknown>
  const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
  const named = (value: unknown) =>
    Object.fromEntries(
      list(value).map((one) => {
        const { name, isFunction } = Object(one) as Record<string, unknown>
        return [String(name), isFunction === true ? () => {} : undefined] as const
      }),
    )
  return {
    ...Object.fromEntries(list(members).map((name) => [String(name), {}])),
    tools: named(tools),
    resources: named(resources),
    prompts: named(prompts),
    providers: named(providers),
    hooks: named(hooks),
    ...(execute === true && { schedule: { execute: () => {} } }),
    ...(invoke === true && { agent: { invoke: () => {} } }),
  }
}
