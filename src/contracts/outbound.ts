/** The carrier of a request: the platform's network, or a binding that answers like a server. */
export type Carrier = (url: string, init: RequestInit) => Promise<Response>

/** Whether an address may be asked at all, and how it reads. Throws an `OutboundError` (`refused`) if not. */
export type CheckUrl = (url: string) => URL

/** Hosts that the operator opened (`isola http allow`). Asked for only where one of this machine is named. */
export type OpenHosts = () => Promise<readonly string[]>

/** One request, before it has left. */
export interface OutboundRequest {
  readonly url: string
  /** In capitals; `GET` unless said. */
  readonly method?: string
  readonly headers?: HeadersInit
  readonly body?: BodyInit | null | undefined
  readonly signal?: AbortSignal | null | undefined
}

/** A request, or what follows of it after a redirect, whose address was found to be allowed. */
export interface OutboundHop {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  readonly body: BodyInit | null | undefined
}

/** The outcome of one hop. */
export interface OutboundReport {
  readonly host: string
  readonly method: string
  /** 0 if no server answered. */
  readonly status: number
  readonly refused?: true
}

/** Puts secrets into each hop when it leaves, and takes them out of the answer. */
export interface Redaction {
  /** The request as it leaves. Asked for each hop anew. */
  readonly fill: (hop: OutboundHop) => Promise<Pick<OutboundHop, 'url' | 'headers'>>
  /** Whether a header may go along to another host. */
  readonly mayLeave: (name: string, value: string) => boolean
  /** Throws if a redirect would take a value where it must not go, or asks for one. Asked before any rule is. */
  readonly checkRedirect: (location: string, to: { readonly isElsewhere: boolean }) => void
  /** Whether answers are looked through, for which they are read whole. */
  readonly redacts: boolean
  readonly redactText: (text: string) => string
  readonly redactHeaders: (headers: Headers) => Headers
  readonly redactBytes: (bytes: Uint8Array) => Uint8Array
}

/** Rules for one request, besides the rules for all. */
export interface OutboundRules {
  /**
   * The address that the operator set, which this request is for: it may be private, on any port and without TLS. A
   * request to another address is for a public one, unless this one is itself in a network of the operator's.
   */
  readonly operator?: string
  /**
   * The text that named the address, where the address is not a caller's own: an index, a page. It may lead only
   * where a redirect from it may.
   */
  readonly from?: URL | undefined
  /**
   * Given where a caller named the address, or a text that was fetched: on no hop is another host of this machine
   * asked. A refusal comes before any byte is sent: a caller must not learn which ports of this machine answer.
   */
  readonly openHosts?: OpenHosts
  /** Asked of each hop; throws what is refused besides. `from` is where a redirect came from. */
  readonly check?: (hop: {
    readonly url: URL
    readonly method: string
    readonly from: URL | undefined
  }) => Promise<void>
  /** How many redirects are followed. By default none: it is the answer then. */
  readonly maxRedirects?: number
  /** Bytes of a body that is sent, if that is text. */
  readonly maxSentBytes?: number
  /** Bytes of the answer, counted once it is unpacked. */
  readonly maxBytes: number
  /** From the request to the end of its answer, redirects included, in milliseconds. Without it the signal ends it. */
  readonly timeoutMs?: number
  /** Goes with what may have an effect, unless the caller set one. */
  readonly idempotencyKey?: string
  /** Opened before the first hop leaves. */
  readonly openRedaction?: () => Promise<Redaction>
  readonly onHop?: (report: OutboundReport) => void
  /**
   * Told, when a request leaves, how to ask whether the network has taken its body to the last byte. Until then no
   * server has the whole request. Where the way out cannot tell, the answer is yes.
   */
  readonly watchBody?: (isTaken: () => boolean) => void
  /** Maps an error to the caller's own kind, also while an answer is read. */
  readonly toError?: (error: OutboundError) => Error
}

/** The answer, of any status. Read it to its end, or cancel it: its connection and its timer wait for that. */
export interface OutboundAnswer {
  readonly status: number
  readonly headers: Headers
  /** The host that answered: the last of the redirects. */
  readonly host: string
  readonly url: URL
  /** The next piece, as it comes; `undefined` at the end. */
  readonly read: () => Promise<Uint8Array<ArrayBuffer> | undefined>
  readonly bytes: () => Promise<Uint8Array>
  readonly text: () => Promise<string>
  /** The beginning, as far as it comes in time; the rest is let go. Never throws. */
  readonly start: (limits: { readonly maxBytes: number; readonly maxMs: number }) => Promise<string>
  readonly cancel: () => void
  /** For callers that pass it on: it is not read ahead, except where it is redacted. */
  readonly toResponse: () => Promise<Response>
}

/**
 * Sends one request, and follows as many redirects as it may. Only http and https leave; to a public host only https on
 * port 443. Rejects with an `OutboundError`, as `toError` has it, or with what a hook threw.
 */
export type Send = (request: OutboundRequest, rules: OutboundRules) => Promise<OutboundAnswer>

/** The one way out of this deployment. */
export interface Outbound {
  readonly send: Send
  /** The same way, with another carrier than the network. */
  readonly over: (carry: Carrier) => Send
  readonly checkUrl: CheckUrl
}

/** Why there is no (whole) answer. */
type OutboundFailure =
  /** The address is not allowed. */
  | 'refused'
  | 'redirects'
  /** The caller's signal fired. */
  | 'aborted'
  | 'late'
  | 'unreachable'
  /**
   * A status that is no HTTP status, such as a redirect which the platform keeps to itself; a body that cannot be
   * unpacked.
   */
  | 'unsupported'
  | 'sent_too_large'
  | 'too_large'
  | 'broken_off'

/** Its message names at most the requested host; the platform's own words are the cause, for operators only. */
export class OutboundError extends Error {
  readonly failure: OutboundFailure

  constructor(failure: OutboundFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'OutboundError'
    this.failure = failure
  }
}
