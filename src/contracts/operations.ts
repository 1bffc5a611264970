import type { AuditRecord } from './event.ts'

/** Who is asking. The operator key is the only one so far; the other roles come with keys. */
export interface Principal {
  readonly id: string
  readonly role: 'operator' | 'author' | 'user' | 'auditor'
}

/**
 * Turns an `Authorization` header into a principal. Throws `request_unauthenticated` (missing or wrong) or
 * `request_auth_not_configured`.
 */
export type Authenticate = (authorization: string | undefined) => Promise<Principal>

/**
 * Whether the database has the tables this version needs. `unreachable` is not a refusal: with D1 down running
 * work goes on (DESIGN.md section 11).
 */
export type Readiness =
  | { readonly state: 'ready'; readonly migration: string }
  | { readonly state: 'not_migrated'; readonly message: string }
  | { readonly state: 'unreachable' }

export interface AuditQuery {
  readonly trace?: string
  readonly session?: string
  /** At most this many records, 1 to 500. */
  readonly limit: number
  /** The `next` of the page before. */
  readonly after?: number
}

/** Records in the order they arrived; `next` is present if there may be more. */
export interface AuditPage {
  readonly records: readonly AuditRecord[]
  readonly next?: number
}

export interface AuditReader {
  readonly query: (query: AuditQuery) => Promise<AuditPage>
}

/** A plugin that is off, and why. Safe for the operator's eyes. */
export interface PluginProblem {
  readonly plugin: string
  readonly code: string
  readonly message: string
}
