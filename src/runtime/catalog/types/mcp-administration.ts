import type { DeploymentDraft } from './event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { McpChange, McpDifference, McpPin, McpServerRow, McpStanding } from './mcp.ts'
import type { McpCameBack, McpLogin } from './mcp-sign-in.ts'
import type { Generation } from './generation.ts'
import type { Administrator, Role } from '#contracts/keys.ts'
import type { ChangeBy } from './plugin-catalog.ts'

/** What a change of a server comes to, before any of it is written. */
export interface McpOutcome {
  readonly servers: readonly McpServerRow[]
  /** Absent if what is enabled stays as it is. */
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
  /** @param code What the browser showed. Throws `request_invalid` for any that is not of a sign-in of this principal. */
  readonly finish: (id: string, by: McpSelf, code: string) => Promise<void>
  /** Deletes its tokens and ends calls under way. Repeated, it does nothing. */
  readonly end: (id: string, by: McpSelf) => Promise<void>
}

/** How a principal stands at a server. `isDenied`: its last sign-in was denied there. */
interface McpOwnLogin {
  readonly state: 'signed_in' | 'signed_out'
  readonly isDenied?: true
}

/** What a browser came back with, and to which server; only the deployment's sign-in is done with that. */
export type McpFinished = ({ readonly state: 'signed_in' } | McpCameBack) & {
  readonly server: string
}

/**
 * What an operator does with servers. Throws `request_…`; every change is an event. Where each principal signs in, what
 * is shown is what this operator's sign-in shows.
 */
export interface McpAdministration {
  readonly own: McpOwnLogins
  readonly list: () => Promise<readonly McpServerRow[]>
  readonly show: (id: string, principal: string) => Promise<McpServerView>
  /** Asks the server what it has now. Throws `request_unavailable` saying why it does not answer. */
  readonly look: (id: string, principal: string) => Promise<McpServerView>
  readonly change: (
    change: McpChange,
    by: ChangeBy,
  ) => Promise<{ readonly generation: number; readonly notes: readonly string[] }>
  /** Begins to sign in. @param origin Where a browser reaches this deployment. */
  readonly login: (id: string, origin: string) => Promise<McpLogin>
  /** Ends what `login` began, with what the browser brought back. Throws `request_invalid`. */
  readonly finishLogin: (query: string) => Promise<McpFinished>
  /** Takes away every sign-in of one principal; says at which servers. */
  readonly forget: (principal: string, by: Administrator) => Promise<readonly string[]>
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
