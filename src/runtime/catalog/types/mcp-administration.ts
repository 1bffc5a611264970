import type { DeploymentDraft } from './event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { McpChange, McpDifference, McpPin, McpServerRow, McpStanding } from './mcp.ts'
import type { McpCameBack, McpLogin } from './mcp-sign-in.ts'
import type { Generation } from './generation.ts'
import type { Administrator, Role } from '#contracts/keys.ts'
import type { ChangeBy } from './plugin-catalog.ts'

/** The outcome of a change of a server, before it is written. */
export interface McpOutcome {
  readonly servers: readonly McpServerRow[]
  /** Absent if the pins stay as they are. */
  readonly mcp?: readonly McpPin[]
  /** The event for the record. */
  readonly told: DeploymentDraft
  readonly notes: readonly string[]
}

/** Decides changes of servers, within the Catalog's single writer. Throws what is refused. */
export interface McpDecisions {
  readonly decide: (change: McpChange, now: Generation, by: ChangeBy) => Promise<McpOutcome>
  /** The servers of an earlier generation. A server that was removed or added anew since stays as it is. */
  readonly restore: (then: Generation) => Promise<
    Pick<McpOutcome, 'servers' | 'notes'> & {
      readonly mcp: readonly McpPin[]
      /** Rights that the restore grants and that were not granted just before; in the notes too. */
      readonly regained: readonly string[]
    }
  >
}

/** A server as the operator sees it. */
export interface McpServerView extends McpServerRow, McpStanding {
  readonly differences: readonly McpDifference[]
  /** Tools, as last seen, of which each call needs an approval. */
  readonly asking: readonly string[]
  /** Tools without such a hint that were approved as harmless. */
  readonly harmless: readonly string[]
  /** Tools that were approved as closed: no stranger writes where they read. */
  readonly closed: readonly string[]
}

/** A principal that manages its own sign-in. */
export interface McpSelf extends Administrator {
  readonly role: Role
}

/**
 * A principal's own sign-in, at a server where each principal signs in. Throws `request_…`; only operators learn of a
 * server that is off.
 */
export interface McpOwnLogins {
  readonly show: (id: string, by: McpSelf) => Promise<McpOwnLogin>
  /** @param origin Where a browser reaches this deployment. */
  readonly begin: (id: string, by: McpSelf, origin: string) => Promise<McpLogin>
  /**
   * @param code The code that the browser showed. Throws `request_invalid` unless it belongs to a sign-in of this
   *   principal.
   */
  readonly finish: (id: string, by: McpSelf, code: string) => Promise<void>
  /** Deletes its tokens and ends calls under way. Repeated, it does nothing. */
  readonly end: (id: string, by: McpSelf) => Promise<void>
}

/** How a principal stands at a server. `isDenied`: its last sign-in was denied there. */
interface McpOwnLogin {
  readonly state: 'signed_in' | 'signed_out'
  readonly isDenied?: true
}

/** The result of a sign-in in the browser, and its server. Only the deployment's own sign-in is finished by it. */
export type McpFinished = ({ readonly state: 'signed_in' } | McpCameBack) & {
  readonly server: string
}

/**
 * The operator's changes of servers. Throws `request_…`; every change is an event. At a server where each principal
 * signs in, the operator sees with its own sign-in.
 */
export interface McpAdministration {
  readonly own: McpOwnLogins
  readonly list: () => Promise<readonly McpServerRow[]>
  readonly show: (id: string, principal: string) => Promise<McpServerView>
  /** Lists the server's items now. Throws `request_unavailable` with the reason. */
  readonly look: (id: string, principal: string) => Promise<McpServerView>
  readonly change: (
    change: McpChange,
    by: ChangeBy,
  ) => Promise<{ readonly generation: number; readonly notes: readonly string[] }>
  /** Begins to sign in. @param origin Where a browser reaches this deployment. */
  readonly login: (id: string, origin: string) => Promise<McpLogin>
  /** Finishes a sign-in with the browser's query. Throws `request_invalid`. */
  readonly finishLogin: (query: string) => Promise<McpFinished>
  /** Removes every sign-in of one principal; answers at which servers. */
  readonly forget: (principal: string, by: Administrator) => Promise<readonly string[]>
  /** The client metadata for authorization servers. */
  readonly clientMetadata: (origin: string) => JsonObject
  /** Approves the listing with this hash, or only these items of it. */
  readonly approve: (
    seen: {
      readonly id: string
      readonly hash: string
      /** Keys, or `kind:key`; all if absent. */
      readonly items?: readonly string[]
      readonly confirm: readonly string[]
      /** Tools without a hint about destruction that do not destroy; `*` is all such tools. */
      readonly harmless: readonly string[]
      /**
       * Tools that reach no stranger: their results are the server's own, and no data leaves from there; `*` is all
       * tools.
       */
      readonly closed: readonly string[]
    },
    by: ChangeBy,
  ) => Promise<{ readonly generation: number; readonly notes: readonly string[] }>
}
