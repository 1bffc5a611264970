import { defined } from './defined.ts'
/** What came in with a trace id, and goes on with it (W3C Trace Context). */
export interface TraceLink {
  /** The span of whoever asked, 16 hex characters; absent below a sub-agent's call, whose own span it is. */
  readonly span?: string
  /** False if whoever began the trace does not record it: nothing of it is exported here either. */
  readonly isSampled: boolean
  /** `tracestate`, checked. For model servers only: it says more of the caller than an id does. */
  readonly state?: string
}

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

/** What a request to a model server carries. */
export function toTraceHeaders(position: TracePosition): Readonly<Record<string, string>> {
  const state = position.link?.state
  return {
    traceparent: toTraceparent(position),
    ...defined({ tracestate: state }),
  }
}

const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** What a caller sent, if it is valid: an invalid `traceparent` is to be ignored, and `tracestate` with it. */
export function parseTraceHeaders(
  parent: string | null,
  state: string | null,
): { readonly trace: string; readonly link: TraceLink } | undefined {
  const [, version, trace, span, flags, more] = traceparent.exec(parent?.trim() ?? '') ?? []
  if (trace === undefined || span === undefined || flags === undefined) return undefined
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (!/[^0]/.test(trace) || !/[^0]/.test(span)) return undefined
  const checked = parseTraceState(state)
  return {
    trace,
    link: {
      span,
      isSampled: (Number.parseInt(flags, 16) & 1) === 1,
      ...defined({ state: checked }),
    },
  }
}

const maxStateChars = 512
const maxStateMembers = 32
const stateMember =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** All of it or nothing: a list that is not valid, or is longer than others have to take, is dropped. */
function parseTraceState(text: string | null): string | undefined {
  const members = (text ?? '')
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '')
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf('='))))
  const isValid =
    members.length > 0 &&
    members.length <= maxStateMembers &&
    keys.size === members.length &&
    members.every((member) => stateMember.test(member))
  const state = members.join(',')
  return isValid && state.length <= maxStateChars ? state : undefined
}
