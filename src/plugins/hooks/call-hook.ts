import { z } from 'zod'
import type { Json } from '#contracts/json.ts'
import type { HookPoint } from '#contracts/manifest.ts'
import { ToolError, type Capabilities, type HookEvent } from '#contracts/plugin.ts'
import type { Clock } from '#contracts/sources.ts'
import type { ToolContext } from '#contracts/tool.ts'
import { openCapabilities, type CapabilityDeps } from '../capabilities.ts'
import { maxOutputBytes } from '../call-limits.ts'
import type { HookOutcome } from '../hook-batch.ts'
import type { LoadedPlugin } from '../in-process-host.ts'
import { jsonSizeBytes, toJson } from '../json-border.ts'

export interface CallHookDeps {
  readonly capabilities: CapabilityDeps
  readonly clock: Clock
}

interface HookCall {
  readonly plugin: LoadedPlugin
  readonly on: HookPoint
  readonly events: readonly HookEvent[]
  readonly context: ToolContext
  readonly timeoutMs: number
}

const outcomesSchema = z.array(
  z.union([
    z.strictObject({ answer: z.custom<Json>((value) => value !== undefined) }),
    z.strictObject({ failed: z.literal(true) }),
  ]),
)

/**
 * Asks one plugin about some events, once. Contract: never throws; one outcome for each event, in their order. What
 * is late, thrown, or not what was asked for is `failed`, for all of them.
 */
export async function callHook(
  { plugin, on, events, context, timeoutMs }: HookCall,
  { capabilities: deps, clock }: CallHookDeps,
): Promise<readonly HookOutcome[]> {
  const over = new AbortController()
  const signal = AbortSignal.any([context.signal, over.signal])
  const leave = await deps.takeLeave?.(plugin).catch(() => undefined)
  if (deps.takeLeave && !leave) return failedAll(events)
  const { capabilities, close } = openCapabilities(plugin, { ...context, signal }, deps)
  try {
    const run = plugin.parts.hooks?.[on]
    if (!run || signal.aborted) return failedAll(events)
    const late = clock.sleep(timeoutMs, signal).then(() => undefined)
    const work = run(events, toHookCapabilities(capabilities, context), context)
    const outcomes = readOutcomes(await Promise.race([work, late]))
    return outcomes?.length === events.length ? outcomes : failedAll(events)
  } catch {
    return failedAll(events)
  } finally {
    leave?.end()
    close()
    over.abort()
  }
}

const failedAll = (events: readonly HookEvent[]): readonly HookOutcome[] =>
  events.map(() => ({ failed: true }))

/** From an isolate it is foreign, whatever our own shim makes of it in there. */
function readOutcomes(given: unknown): readonly HookOutcome[] | undefined {
  const json = toJson(given)
  if (jsonSizeBytes(json) > maxOutputBytes) return undefined
  const read = outcomesSchema.safeParse(json)
  return read.success ? read.data : undefined
}

/** What would set off hooks again, or spend, is not for a hook: a hook never triggers hooks. */
function toHookCapabilities(capabilities: Capabilities, context: ToolContext): Capabilities {
  const refuse = (capability: string) => async (): Promise<never> => {
    context.emit({ type: 'capability_refused', data: { call: context.call, capability } })
    const message = `not in a hook: ${capability}`
    throw new ToolError('tool_failed', { message })
  }
  return {
    ...capabilities,
    tools: { call: refuse('tools') },
    model: { generate: refuse('model') },
    isolate: { run: refuse('isolate') },
  }
}
