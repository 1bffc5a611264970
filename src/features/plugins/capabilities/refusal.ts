import { ToolError, type PluginStorage } from '#features/plugins/types/plugin.ts'
import type { ToolContext } from '#contracts/tool.ts'

/** Refuses a capability that was not granted: the plugin gets an error each time, the record one event a call. */
export type Refuse = (capability: string) => () => Promise<never>

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
export function fail(message: string): () => Promise<never> {
  return async () => {
    throw new ToolError('tool_failed', { message })
  }
}

/** Storage whose every verb refuses. */
export function refusedStorage(run: () => Promise<never>): PluginStorage {
  return { get: run, set: run, delete: run, list: run }
}
