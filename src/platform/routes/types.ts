import type { Context, Handler, Hono } from 'hono'
import type { Principal, Readiness, RequestClient } from '#contracts/operations.ts'
import type { Scope } from '#contracts/keys.ts'
import type { Sources } from '#contracts/sources.ts'
import type { OnFault } from './request.ts'

/** A client closed a streamed `/v1` answer before its end. */
export interface GoneClient {
  readonly session: string
  readonly run: string
  readonly principal: string
  readonly reader: string
}

/**
 * Turns an `Authorization` header into a principal. Throws `request_unauthenticated` (missing, wrong, expired and
 * revoked alike), `request_login_limited` (after too many wrong ones from an address), `request_rate_limited` (too many
 * that are not known), `request_unavailable` (keys cannot be looked up; the operator key works) or
 * `request_auth_not_configured`.
 */
export type Authenticate = (
  authorization: string | undefined,
  client?: RequestClient,
) => Promise<Principal>

/** The dependencies of every request. Each route names its own besides. */
export interface RequestDeps {
  readonly sources: Sources
  /** Absent where the platform lacks what sign-ins need: then keys alone let a caller in. */
  readonly oauth?: {
    /** The parameters of a `WWW-Authenticate: Bearer`; `undefined` where tokens are not accepted. */
    readonly challenge: (
      url: string,
      about: { readonly error?: string; readonly scopes: readonly Scope[] },
    ) => string | undefined
  }
  /** Gets what a caller never sees: the error behind a 5xx. */
  readonly onFault?: OnFault
  /** Brings the agents up to date. Never throws. */
  readonly refreshAgents?: (agent?: string) => Promise<void>
}

/** The dependencies of the app before a route answers. */
export interface GuardDeps extends RequestDeps {
  readonly authenticate: Authenticate
  /**
   * The caller as this isolate remembers it, for a request that goes on to a session, which asks whether that still
   * holds. `undefined`: the key is looked up.
   */
  readonly claim?: (authorization: string | undefined) => Principal | undefined
  readonly limits: {
    /** Throws `request_rate_limited`. */
    readonly request: (principal: Principal) => Promise<void>
  }
  /** Asked on every request but `/healthz`: the composition caches `ready`. */
  readonly readiness: () => Promise<Readiness>
  /** Further names under which clients may reach this deployment. */
  readonly hosts?: readonly string[]
  readonly schedules: {
    /** Looks whether a schedule is late, at most once a minute. Never throws. */
    readonly glance: () => Promise<void> | undefined
  }
  /** Told of every request when its answer begins. */
  readonly onRequest?: (entry: RequestEntry) => void
}

/** One request as the log has it: no address, no body, no text of a client. */
export interface RequestEntry {
  readonly requestId: string
  readonly method: string
  /** The pattern, such as `/api/sessions/:id`; `null` if there is none. */
  readonly route: string | null
  readonly status: number
  /** Until the answer began. */
  readonly ms: number
  /** The trace of the work that it began; absent if there is none. */
  readonly trace?: string
  readonly role?: string
  /** The id of the key, never the key; absent for the operator key of the deployment. */
  readonly key?: string
}

/** The values that a request carries through the app. */
export interface HttpEnv {
  Variables: {
    requestId: string
    /** The headers that a page of another origin may read of the answer; absent: none. */
    corsExposed?: string
    principal: Principal
    /** Looks the caller's key up, once; of a caller that came with a claim. */
    prove?: () => Promise<Principal>
    /** The session, or the database, has said that the claim of this caller holds. */
    isProven?: boolean
    /** The scopes that a token would have needed: for the answer that refuses it. */
    neededScopes?: readonly Scope[]
    /** Set with the first work that is begun under it. */
    trace?: string
    /** A run may have begun: an error must not be answered by the same request again. */
    mayHaveBegun?: boolean
  }
}

/** One request, with what the app has found out about it. */
export type HttpContext = Context<HttpEnv>
/** Answers one request; an error that it throws becomes a response of the OpenAI shape. */
export type HttpHandler = Handler<HttpEnv>
/** The router of the Worker. */
export type HttpApp = Hono<HttpEnv>
