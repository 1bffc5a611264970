/** Time, injected so that tests and replay can move it. */
export interface Clock {
  /** Epoch milliseconds. */
  readonly nowMs: () => number
  /** Resolves after `ms`, or at once when `signal` aborts. Never rejects. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

/** Identifiers, injected so that tests count them and replay repeats them. */
export interface Ids {
  /** `<prefix>_` + 22 random base62 characters (131 bits). `isk` is a key: a secret, not a name. */
  readonly next: (
    prefix:
      | 'ses'
      | 'run'
      | 'call'
      | 'req'
      | 'evt'
      | 'key'
      | 'login'
      | 'isk'
      | 'ref'
      | 'sch'
      | 'sub'
      | 'mem'
      | 'pas'
      | 'erased',
  ) => string
  /** 32 lowercase hex characters, W3C trace id. */
  readonly traceId: () => string
}

/** The nondeterministic inputs of a runtime, as one bundle, and the hash every record uses. */
export interface Sources {
  /** sha-256 of UTF-8 text, lowercase hex. */
  readonly sha256: (text: string) => string
  readonly clock: Clock
  readonly ids: Ids
}
