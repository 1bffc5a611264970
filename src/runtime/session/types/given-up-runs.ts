/** A run that the session gave up after too many interruptions, and the operator's decision about it. */
export interface GivenUpRun {
  readonly run: string
  readonly session: string
  readonly principal: string
  readonly agent: string
  readonly trace: string
  readonly code: string
  readonly message: string
  readonly atMs: number
  readonly state: 'open' | 'retried' | 'dropped'
}

/** The list an operator works through. Rows arrive with the audit log. Every verb may throw `request_unavailable`. */
export interface GivenUpRuns {
  /** Newest first. */
  readonly list: (query: {
    readonly state: GivenUpRun['state']
    readonly limit: number
  }) => Promise<readonly GivenUpRun[]>
  readonly find: (run: string) => Promise<GivenUpRun | undefined>
  /** Changes the state only from `open`. */
  readonly resolve: (run: string, state: 'retried' | 'dropped') => Promise<void>
}
