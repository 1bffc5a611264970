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
} from '../types/plugin-output.ts'
import { detectProtocols, type HostedFunction, type HostedParts } from './plugin-parts.ts'
import { nonceIn } from '../secrets/placeholder.ts'
import { readAnswer } from './answer.ts'
import { refusal } from './call-gate.ts'
import { createHostStubs } from './host-stubs.ts'
import type { CallStubs } from './inside/capabilities.ts'
import { toIsolateId, type IsolateUse } from './isolate-id.ts'
import type { RunnerRequest } from './run-call.ts'
import type { ToolContext } from '#contracts/tool.ts'

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

export type IsolateHost = ReturnType<typeof createIsolateHost>

/** Some more, for the envelope around the value. */
const maxChars = maxOutputBytes + 1_024
/** Extra time of the Runner's own deadline, which is only needed if the session's object is gone. Milliseconds. */
const graceMs = 2_000

/**
 * Runs plugins in isolates: the same parts as in-process, each call through the Runner. Failures have `tool_` codes.
 */
export function createIsolateHost(host: IsolateHostDeps) {
  return {
    /** By the manifest alone: no code runs. */
    partsOf(plugin: IsolatedPlugin): HostedParts {
      const { manifest, runsOwnAgent = true } = plugin
      const hosting = { ...host, plugin, idOf: rememberIds(host, plugin) }
      const { tools, resources, prompts, providers, hooks } = manifest.contributes
      const toNamed = (kind: string, declared: readonly Declared[]) =>
        Object.fromEntries(
          declared.map(({ name, timeout_ms: timeoutMs = defaultTimeoutMs }) => {
            const run: HostedFunction = (input, can, context) =>
              ask(hosting, { work: { do: kind, name, input }, can, context, timeoutMs })
            return [name, run] as const
          }),
        )
      const toHook =
        (on: string): NonNullable<HostedParts['hooks']>[string] =>
        /** One call of the isolate for all events. */
        (events, can, context) => {
          const work = { do: 'hook', on, events }
          return ask(hosting, { work, can, context, timeoutMs: defaultHookTimeoutMs })
        }
      const { agent, entrypoint, schedule } = manifest
      return {
        isolateId: hosting.idOf,
        tools: toNamed('tool', tools),
        resources: toNamed('resource', resources),
        prompts: toNamed('prompt', prompts),
        providers: toNamed(
          'provider',
          providers.map((name) => ({ name })),
        ),
        hooks: Object.fromEntries(hooks.map(({ on }) => [on, toHook(on)])),
        ...(agent !== undefined &&
          entrypoint !== undefined &&
          runsOwnAgent && {
            agent: {
              invoke: (request, can, context) => {
                const timeoutMs = agent.limits.time_budget_ms ?? defaultTimeoutMs
                return ask(hosting, { work: { do: 'agent', request }, can, context, timeoutMs })
              },
            },
          }),
        ...(schedule !== undefined && {
          schedule: {
            execute: (can, context) => {
              const work = { do: 'schedule' }
              return ask(hosting, { work, can, context, timeoutMs: scheduleTimeoutMs })
            },
          },
        }),
      }
    },
    /**
     * Registers the code in an isolate of its own and compares the parts with the manifest.
     * @throws `plugin_contract_mismatch`, or what `readAnswer` throws.
     */
    async inspect(plugin: IsolatedPlugin): Promise<PluginFacts> {
      const hosting = { ...host, plugin, idOf: rememberIds(host, plugin) }
      const answer = await call(hosting, {
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

interface Declared {
  readonly name: string
  readonly timeout_ms?: number | undefined
}

/** The host of one plugin. */
interface Hosting extends IsolateHostDeps {
  readonly plugin: IsolatedPlugin
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
): (use: IsolateUse) => string {
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

/** One call with its capabilities, for the user of its context. */
function ask(
  hosting: Hosting,
  {
    can,
    context: { rootSession, principal, signal },
    ...more
  }: Pick<IsolateCall, 'work' | 'timeoutMs'> & {
    readonly can: Capabilities
    readonly context: ToolContext
  },
): Promise<unknown> {
  return call(hosting, {
    ...more,
    idempotencyKey: can.idempotencyKey,
    nonce: nonceIn(can.secrets.ref),
    stubs: createHostStubs(can, signal),
    use: { rootSession, principal },
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

async function call(
  { runner, idOf, plugin: { manifest, hash } }: Hosting,
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
