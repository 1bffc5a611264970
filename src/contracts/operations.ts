import type { RunState } from './agent.ts'
import type { Rights, OwnLimits, Scope } from './keys.ts'

/** The caller with its rights, read anew with each request; of a caller with a claim, as they were read last. */
export interface Principal extends Omit<Rights, 'limits'> {
  readonly id: string
  /** The id of the key it came with; absent for the operator key of the deployment. */
  readonly key?: string
  /** The id of the sign-in whose token it came with; absent for a key. */
  readonly grant?: string
  /** The persona of its key: the orchestrator speaks as this persona unless the request names another. */
  readonly persona?: string
  /** Absent for the operator key: its day is what the deployment sets. */
  readonly limits?: OwnLimits
  /**
   * The scopes of its token, and the scopes that a token of it could have; absent for a key, which allows all that
   * its role may. `role` is no more than the token allows.
   */
  readonly token?: { readonly scopes: readonly Scope[]; readonly couldHave: readonly Scope[] }
  /**
   * What the Worker remembers of its key and has not asked for with this request: the session asks, before any effect.
   * Absent for a caller whose key was looked up.
   */
  readonly claim?: string
}

/** Where a request came from, for the record and for the limit of failed logins. */
export interface RequestClient {
  /** The network address; absent if the platform names none. */
  readonly address?: string | undefined
  readonly requestId?: string
  /** The requested URL: a token is valid for one part of the deployment. */
  readonly url?: string
}

/**
 * Whether the database has the tables this version needs. `unreachable` is not a refusal: with D1 down running
 * work goes on (docs/design.md section 11).
 */
export type Readiness =
  | { readonly state: 'ready'; readonly migration: string }
  | { readonly state: 'not_migrated'; readonly message: string }
  | { readonly state: 'unreachable' }

/** A session as it stood when its log was last carried: a moment ago, or longer while the database was away. */
export interface SessionListing {
  readonly id: string
  /** `null` until its first run says which. */
  readonly agent: string | null
  readonly principal: string
  readonly createdAtMs: number
  /** When its last run came in or ended. */
  readonly usedAtMs: number
  readonly runs: number
  /** The state of the last run; `null` before the first. */
  readonly state: RunState | null
  readonly isStateless: boolean
}

/** A place in the list: later entries are older. */
export interface SessionCursor {
  readonly sinceMs: number
  readonly id: string
}

/** Which sessions are listed, and from which on. */
export interface SessionQuery {
  /** Absent: the sessions of all principals. */
  readonly principal?: string
  readonly agent?: string
  readonly state?: RunState
  /** Includes the sessions of requests that named none. */
  readonly withStateless?: boolean
  readonly limit: number
  readonly after?: SessionCursor
}

/** The list of sessions, without sessions of sub-agents. May throw `request_unavailable`. */
export interface SessionIndex {
  /** Newest made first, which no later use changes: a page is as it was. `next` is present if there may be more. */
  readonly list: (query: SessionQuery) => Promise<{
    readonly sessions: readonly SessionListing[]
    readonly next?: SessionCursor
  }>
  /** All sessions of a principal, also of sub-agents, in the order of their ids. */
  readonly idsOf: (
    principal: string,
    page: { readonly after: string; readonly limit: number },
  ) => Promise<readonly string[]>
  /** Where a run works or worked, and whose it is: among the newest of the record, a moment after it began. */
  readonly placeOf: (
    run: string,
  ) => Promise<{ readonly session: string; readonly principal: string } | undefined>
}

/** A plugin that is off, and why. Safe for the operator's eyes. */
export interface PluginProblem {
  readonly plugin: string
  readonly code: string
  readonly message: string
}

/** The code of a problem with which an agent works all the same, calling its tools one by one. */
export const codeModeOff = 'code_mode_off'
