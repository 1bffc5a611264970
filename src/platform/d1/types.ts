import type { DeploymentLog, DeploymentEvent } from '#contracts/event.ts'
import type { PlatformUnit } from '#contracts/platform.ts'

/** Several at once, all or none. Throws `request_unavailable`. */
export interface DeploymentLogs extends DeploymentLog {
  readonly appendAll: (events: readonly DeploymentEvent[]) => Promise<void>
}

/** Whether the database answers now. */
export type DatabaseState = 'ok' | 'unreachable'

/**
 * What Cloudflare publishes for the Workers Paid plan, beyond what it includes. Read on 2026-11-22 in stored copies:
 * - https://developers.cloudflare.com/durable-objects/platform/pricing/: requests (RPC sessions and alarm invocations
 *   too) $0.15 per million; duration $12.50 per million GB-s, of 128 MB whatever is used. The rows below are those of
 *   the same page's storage section, read there second-hand only (unverified): read $0.001, written $1.00 per million;
 *   `setAlarm` is billed as a row written.
 * - https://developers.cloudflare.com/d1/platform/pricing/: rows read $0.001, rows written $1.00 per million, an index
 *   that is written as a row of its own.
 * - https://developers.cloudflare.com/dynamic-workers/pricing: CPU $0.02 per million milliseconds, $0.002 for each
 *   dynamic worker a day.
 * - https://developers.cloudflare.com/kv/platform/pricing/: keys read $0.50, written $5.00 per million (unverified:
 *   read second-hand).
 *
 * Storage ($0.20 a GB-month in objects, $0.75 in D1) and requests from outside ($0.30 per million) are no part of a
 * run's bill.
 *
 * In billionths of a US dollar for one unit.
 */
export const platformPrices: Readonly<Record<PlatformUnit, number>> = {
  rowsRead: 1,
  rowsWritten: 1_000,
  alarms: 1_000,
  // A wake costs what it reads and how long it takes: both are counted as such.
  wakes: 0,
  requests: 150,
  d1RowsRead: 1,
  d1RowsWritten: 1_000,
  kvReads: 500,
  kvWrites: 5_000,
  // In the cost of the run already, where the price of one is set: it is leased before the isolate begins.
  isolates: 0,
  // 0.128 GB for a millisecond.
  activeMs: 1.6,
  cpuMs: 20,
}
