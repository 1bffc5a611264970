import type { TraceLink } from '#contracts/trace.ts'
import { defined } from '#contracts/defined.ts'

/** The header of one request, with the span it is part of. */
interface TracePosition {
  readonly trace: string
  readonly span: string
  readonly link?: TraceLink | undefined
}

/** A `traceparent` header of W3C Trace Context, version 00. */
export function toTraceparent({ trace, span, link }: TracePosition): string {
  return `00-${trace}-${span}-${link?.isSampled === false ? '00' : '01'}`
}

/** The trace headers of a request to a model server. */
export function toTraceHeaders(position: TracePosition): Readonly<Record<string, string>> {
  const state = position.link?.state
  return {
    traceparent: toTraceparent(position),
    ...defined({ tracestate: state }),
  }
}
