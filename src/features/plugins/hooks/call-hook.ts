import * as z from 'zod'
import { errorCode } from '#contracts/errors.ts'
import type { Json } from '#contracts/json.ts'
import type { HookPoint } from '#runtime/catalog/types/permit.ts'
import type { Capabilities, HookEvent } from '#features/plugins/types/plugin.ts'
import type { Clock } from '#contracts/sources.ts'
import type { ToolContext } from '#contracts/tool.ts'
import { openCapabilities } from '../capabilities/capabilities.ts'
import type { CapabilityDeps } from '../capabilities/capability-deps.ts'
import { maxOutputBytes, OutputError, failed } from '../types/plugin-output.ts'
import type { HookOutcome } from '../sandbox/hook-batch.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { jsonSizeBytes, toJson } from '../sandbox/json-border.ts'
import { createRequest } from '../sandbox/request-shorthand.ts'
import type { CallLabels } from '../capabilities/plugin-flow.ts'

/** Dependencies of a hook call. */
export interface CallHookDeps {
  readonly capabilities: CapabilityDeps
  readonly clock: Clock
}

interface HookCall {
  readonly plugin: LoadedPlugin
  readonly on: HookPoint
  readonly events: readonly HookEvent[]
  readonly context: ToolContext
  /** Labels of the values that the hook's storage reads and writes. */
  readonly labels?: CallLabels
  readonly timeoutMs: number
}

const outcomesSchema = z.array(
  z.union([
    z.strictObject({ answer: z.custom<Json>((value) => value !== undefined) }),
    z.strictObject({ failed: z.literal(true) }),
  ]),
)

/**
 * Asks one plugin about several events in one call. Contract: never throws; one outcome for each event, in their
 * order. A late, thrown or malformed answer is `failed` for all events.
 */
export async function callHook(
  call: HookCall,
  deps: CallHookDeps,
): Promise<readonly HookOutcome[]> {
  const { plugin, events, context, timeoutMs } = call
  const { faults } = deps.capabilities
  const over = new AbortController()
  const signal = AbortSignal.any([context.signal, over.signal])
  const late = deps.clock.sleep(timeoutMs, signal).then(() => undefined)
  try {
    const outcomes = await Promise.race([ask(call, deps, signal), late])
    // A hook that keeps failing switches its plugin off, as a tool does.
    if (outcomes && !outcomes.some((outcome) => 'failed' in outcome))
      faults?.wentWell(plugin, context.principal)
    else faults?.failed(plugin, new OutputError('failed in a hook.'), context)
    return outcomes ?? failedAll(events)
  } catch (error) {
    // A revocation is not the plugin's fault.
    if (errorCode(error) !== 'tool_denied')
      faults?.failed(plugin, new OutputError('failed in a hook.'), context)
    return failedAll(events)
  } finally {
    over.abort()
  }
}

/** @returns `undefined` for an answer that cannot be used. */
async function ask(
  { plugin, on, events, context, labels }: HookCall,
  { capabilities: deps }: CallHookDeps,
  signal: AbortSignal,
): Promise<readonly HookOutcome[] | undefined> {
  const run = plugin.parts.hooks?.[on]
  // Rejects if the plugin was switched off, or its grants were revoked.
  const watch = await deps.watchRevocation?.(plugin)
  if (!run || signal.aborted) return failedAll(events)
  const held = watch?.signal ? AbortSignal.any([signal, watch.signal]) : signal
  const within = { ...context, signal: held }
  const options = { labels, check: watch?.check }
  const { capabilities, close } = openCapabilities(plugin, within, deps, options)
  try {
    const work = run(events, toHookCapabilities(capabilities, context), within)
    const outcomes = readOutcomes(await Promise.race([work, aborted(held)]))
    return outcomes?.length === events.length ? outcomes : undefined
  } finally {
    close()
    watch?.end()
  }
}

/** Resolves when the signal of one call fires; the listener ends with the call. */
const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })

const failedAll = (events: readonly HookEvent[]): readonly HookOutcome[] =>
  events.map(() => ({ failed: true }))

/** An isolate's outcomes are untrusted, although our own shim makes them there. */
function readOutcomes(given: unknown): readonly HookOutcome[] | undefined {
  const json = toJson(given)
  if (jsonSizeBytes(json) > maxOutputBytes) return undefined
  const read = outcomesSchema.safeParse(json)
  return read.success ? read.data : undefined
}

/** Refuses capabilities that would trigger hooks or spend: a hook never triggers hooks. */
export function toHookCapabilities(capabilities: Capabilities, context: ToolContext): Capabilities {
  const refuse = (capability: string) => async (): Promise<never> => {
    context.emit({ type: 'capability_refused', data: { call: context.call, capability } })
    throw failed(`not in a hook: ${capability}`)
  }
  return {
    ...capabilities,
    tools: { call: refuse('tools') },
    model: { generate: refuse('model') },
    isolate: { run: refuse('isolate') },
    request: createRequest(refuse('request')),
  }
}
