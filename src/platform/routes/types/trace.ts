import type { TraceLink } from '#contracts/trace.ts'
import { defined } from '#contracts/defined.ts'

const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** The caller's trace context, if it is valid: an invalid `traceparent` is to be ignored, and `tracestate` with it. */
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
