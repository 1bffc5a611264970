import type { DeploymentDraft } from './event.ts'
import type { JsonObject } from './json.ts'
import type {
  McpChange,
  McpDifference,
  McpLogin,
  McpPin,
  McpServerRow,
  McpStanding,
} from './mcp.ts'
import type { Generation } from './generation.ts'
import type { ChangeBy } from './plugin-catalog.ts'

/** What a change of a server comes to, before any of it is written. */
export interface McpOutcome {
  readonly servers: readonly McpServerRow[]
  /** Absent if what is enabled stays as it is. */
  readonly mcp?: readonly McpPin[]
  /** What the record says of it. */
  readonly told: DeploymentDraft
  readonly notes: readonly string[]
}

/** Decides changes of servers, inside the one writer of what is enabled. Throws what is refused. */
export interface McpDecisions {
  readonly decide: (change: McpChange, now: Generation, by: ChangeBy) => Promise<McpOutcome>
  /** The servers of an earlier generation: what was removed since, or added anew, stays as it is. */
  readonly restore: (then: Generation) => Promise<
    Pick<McpOutcome, 'servers' | 'notes'> & {
      readonly mcp: readonly McpPin[]
      /** What is allowed again that was not just now; in the notes too. */
      readonly regained: readonly string[]
    }
  >
}

/** A server as the operator sees it. */
export interface McpServerView extends McpServerRow, McpStanding {
  readonly differences: readonly McpDifference[]
  /** Tools, as they were seen last, of which somebody is asked before each call. */
  readonly asking: readonly string[]
  /** Tools that say nothing of it, and were approved as harmless. */
  readonly harmless: readonly string[]
  /** What was approved as reaching no stranger. */
  readonly closed: readonly string[]
}

/** What an operator does with servers. Throws `request_…`; every change is an event. */
export interface McpAdministration {
  readonly list: () => Promise<readonly McpServerRow[]>
  readonly show: (id: string) => Promise<McpServerView>
  /** Asks the server what it has now. Throws `request_unavailable` saying why it does not answer. */
  readonly look: (id: string) => Promise<McpServerView>
  readonly change: (
    change: McpChange,
    by: ChangeBy,
  ) => Promise<{ readonly generation: number; readonly notes: readonly string[] }>
  /** Begins to sign in. @param origin Where a browser reaches this deployment. */
  readonly login: (id: string, origin: string) => Promise<McpLogin>
  /** Ends what `login` began, with what the browser brought back. Throws `request_invalid`. */
  readonly finishLogin: (query: string) => Promise<void>
  /** What authorization servers may read of this program. */
  readonly clientMetadata: (origin: string) => JsonObject
  /** Approves what was seen under this hash, or of it only these. */
  readonly approve: (
    seen: {
      readonly id: string
      readonly hash: string
      /** Keys, or `kind:key`; all if absent. */
      readonly items?: readonly string[]
      readonly confirm: readonly string[]
      /** Tools that do not say whether they destroy, and do not; `*` is all of those. */
      readonly harmless: readonly string[]
      /** Tools that reach no stranger: what they return is the server's own, and nothing leaves from there; `*` is all there is. */
      readonly closed: readonly string[]
    },
    by: ChangeBy,
  ) => Promise<{ readonly generation: number; readonly notes: readonly string[] }>
}
