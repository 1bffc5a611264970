import type { Capabilities, HookEvent, HookFunction } from '#contracts/plugin.ts'
import type { Json } from '#contracts/json.ts'
import { toJson } from './json-border.ts'

/** What came of one event; `answer` is foreign. */
export type HookOutcome = { readonly answer: Json } | { readonly failed: true }

/** Asks a hook about the events of one moment, one after the other; the same in both hosts. One that fails costs no other its answer. */
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
