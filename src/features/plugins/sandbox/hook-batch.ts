import type { Capabilities, HookEvent, HookFunction } from '#features/plugins/types/plugin.ts'
import type { Json } from '#contracts/json.ts'
import { toJson } from './json-border.ts'

/** The outcome of one event; `answer` is untrusted. */
export type HookOutcome = { readonly answer: Json } | { readonly failed: true }

/**
 * Asks a hook about the events of one moment, one after the other; the same in both hosts. If one event fails, the
 * others still get their answers.
 */
export async function runHookBatch(
  hook: HookFunction,
  events: readonly HookEvent[],
  capabilities: Capabilities,
): Promise<readonly HookOutcome[]> {
  const outcomes: HookOutcome[] = []
  for (const event of events) {
    try {
      outcomes.push({ answer: toJson(await hook(event, capabilities)) })
    } catch {
      outcomes.push({ failed: true })
    }
  }
  return outcomes
}
