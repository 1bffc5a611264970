/**
 * The id of a span follows from its subject: a run, its turn, the turn's n-th model request, a call. So an id that
 * was sent out before a crash equals the id that is exported after it. 16 hex characters, never all zero. It tells
 * spans apart and is no secret, so mixed bits suffice where a hash takes ten times as long (decision 0037).
 */
export function spanIdOf(run: string, ...place: readonly (string | number)[]): string {
  const text = [run, ...place].join(' ')
  let high = 0x9e3779b9
  let low = 0x7f4a7c15
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    high = Math.imul(high ^ unit, 0x01000193)
    low = Math.imul(low + unit, 0x2c1b3c6d)
    low ^= low >>> 15
  }
  const id = hex(spread(high)) + hex(spread(low))
  return /[^0]/.test(id) ? id : '0000000000000001'
}

/** Every bit of 32 touches all others. */
function spread(bits: number): number {
  let mixed = Math.imul(bits ^ (bits >>> 16), 0x7feb352d)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b)
  return mixed ^ (mixed >>> 16)
}

const hex = (bits: number): string => (bits >>> 0).toString(16).padStart(8, '0')

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
