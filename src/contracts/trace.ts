/** The incoming trace context, which goes on with the trace id (W3C Trace Context). */
export interface TraceLink {
  /** The caller's span, 16 hex characters; absent below a sub-agent's call, whose own span it is. */
  readonly span?: string
  /** False if the trace's origin does not record it: then this deployment exports nothing of it either. */
  readonly isSampled: boolean
  /** `tracestate`, checked. For model servers only: it says more of the caller than an id does. */
  readonly state?: string
}

/** The trace of a request: its W3C trace id, and the context that came with it. */
export interface RequestTrace {
  readonly trace: string
  /** Absent if the trace begins here. */
  readonly traceLink?: TraceLink
}
