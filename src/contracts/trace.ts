/** What came in with a trace id, and goes on with it (W3C Trace Context). */
export interface TraceLink {
  /** The span of whoever asked, 16 hex characters; absent below a sub-agent's call, whose own span it is. */
  readonly span?: string
  /** False if whoever began the trace does not record it: nothing of it is exported here either. */
  readonly isSampled: boolean
  /** `tracestate`, checked. For model servers only: it says more of the caller than an id does. */
  readonly state?: string
}
