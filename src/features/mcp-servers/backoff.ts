import { IsolaError } from '#contracts/errors.ts'
import type { McpServerConfig } from '#runtime/catalog/types/mcp.ts'
import type { Clock } from '#contracts/sources.ts'

const maxBackoffMs = 60_000

/** After failures in a row calls fail at once instead of waiting for the server: each next try comes later. */
export function createBackoff(clock: Pick<Clock, 'nowMs'>) {
  let failures = 0
  let closedUntilMs = 0
  return {
    /** Throws while it is too early to ask it again. */
    check({ id }: Pick<McpServerConfig, 'id'>): void {
      if (clock.nowMs() >= closedUntilMs) return
      const message = `The MCP server ${id} did not answer just now; it is asked again in a moment.`
      throw new IsolaError('tool_failed', message, { transient: true })
    },
    failed(): void {
      failures += 1
      closedUntilMs = clock.nowMs() + Math.min(500 * 2 ** failures, maxBackoffMs)
    },
    wentWell: (): void => void (failures = 0),
    /** The next try is made at once. */
    forget(): void {
      failures = 0
      closedUntilMs = 0
    },
  }
}
