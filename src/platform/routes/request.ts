import type { Administrator, Scope } from '#contracts/keys.ts'
import type { RequestClient, Principal } from '#contracts/operations.ts'
import type { RequestTrace } from '#contracts/trace.ts'

/** Gets what a caller never sees: the error behind a 5xx. `secrets`: texts that must not be logged. */
export type OnFault = (error: unknown, requestId: string, secrets?: readonly string[]) => void

/** One request, with what the app knows of it. No type of a web framework: a feature knows none. */
export interface RequestContext {
  /** The caller. Absent on a route for anyone, whose handler must not read it. */
  readonly caller: Principal
  readonly requestId: string
  readonly raw: Request
  readonly params: Readonly<Record<string, string>>
  /** The query as it was sent; of a repeated name, the first value. */
  readonly search: Readonly<Record<string, string>>
  /** The client for limits and the record: the address, as Cloudflare reports it, and the request. */
  readonly client: RequestClient
  /** The caller's W3C trace if it sent a valid one, else a new one: the same for all of a request. */
  readonly trace: () => RequestTrace
  /** The author of a change and its request, for the record. */
  readonly by: () => Administrator
  /** The caller without a claim: its key was looked up, by this request if it was not before. Throws as a guard does. */
  readonly prove: () => Promise<Principal>
  /** The session has said that the caller's claim holds. */
  readonly noteProven: () => void
  /** Says with the refusal which scopes a client may ask for next. */
  readonly needScopes: (scopes: readonly Scope[]) => void
  /** Whether a run may have begun: an error then says that the same request again would be a second one. */
  readonly noteBegun: (mayHaveBegun: boolean) => void
  /** Keeps the Worker alive until this has settled, after the answer too. */
  readonly keepAlive: (work: Promise<unknown>) => void
  /**
   * The response of an error. `run`: whose outcome it is, quoted instead of the request, so that a replay reads the
   * same.
   */
  readonly refuse: (
    error: unknown,
    options?: { readonly headers?: Readonly<Record<string, string>>; readonly run?: string },
  ) => Response
}
