import type { SessionEvent, EventData, EventType } from '#contracts/event.ts'
import type { CallRecord, TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { RunRecord } from '#runtime/session/types/telemetry.ts'

/** A request to a model, answered or failed. */
export type ModelRequestEvent = SessionEvent<'model_called' | 'model_failed'>

/** A `double` stays a double even for a whole number. */
export type AttributeValue =
  | string
  | number
  | boolean
  | readonly string[]
  | { readonly double: number }

/** `undefined` attributes are not exported. */
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>

/** Messages, arguments and results as attributes of their spans. */
export interface ContentOf {
  readonly ofRun: (run: RunRecord) => Attributes
  readonly ofModelCall: (run: RunRecord, turn: TurnRecord, event: ModelRequestEvent) => Attributes
  readonly ofCall: (call: CallRecord) => Attributes
}

/** One span in OpenTelemetry's terms, with times in milliseconds. */
export interface Span {
  readonly id: string
  readonly parent?: string | undefined
  /** The parent is in another service. */
  readonly isParentRemote?: boolean
  readonly name: string
  /** `client`: the work is done by another service. */
  readonly kind: 'internal' | 'client'
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  readonly events: readonly SpanEvent[]
  /** The code of the failure. */
  readonly error?: string | undefined
}

/** An event within a span. */
export interface SpanEvent {
  readonly name: string
  readonly atMs: number
  readonly attributes: Attributes
}

/** The fields of events that are exported with a span, with their attribute names. Never free text. */
const shown: {
  readonly [Type in EventType]?: Readonly<Partial<Record<keyof EventData<Type>, string>>>
} = {
  network_requested: {
    host: 'server.address',
    method: 'http.request.method',
    status: 'http.response.status_code',
    refused: 'isola.network.refused',
  },
  capability_refused: { capability: 'isola.capability' },
  hook_called: {
    plugin: 'isola.plugin',
    on: 'isola.hook.on',
    matched: 'isola.hook.matched',
    verdict: 'isola.hook.verdict',
  },
  lease_refused: { code: 'isola.lease.code', asked: 'isola.lease.asked', left: 'isola.lease.left' },
  lease_overdrawn: { tokens: 'isola.lease.spent_tokens', reserved: 'isola.lease.reserved_tokens' },
  agent_error: { code: 'error.type' },
  run_parked: {},
  run_resumed: { lostCalls: 'isola.lost_calls' },
  pause_answered: { kind: 'isola.pause.kind', answer: 'isola.pause.answer' },
}

/** How many events a span has; the newest stay, and the first entry says how many were left out. */
const maxEvents = 128

/** Events of the log as events of their span, with attributes and without texts. */
export function toSpanEvents(events: readonly SessionEvent[]): readonly SpanEvent[] {
  const all = events.filter(({ type }) => shown[type])
  const kept = toShown(all.length > maxEvents ? all.slice(1 - maxEvents) : all)
  const [first] = kept
  if (!first || kept.length === all.length) return kept
  const attributes = { 'isola.events_left_out': all.length - kept.length }
  return [{ name: 'isola.events_left_out', atMs: first.atMs, attributes }, ...kept]
}

function toShown(events: readonly SessionEvent[]): readonly SpanEvent[] {
  return events.flatMap(({ type, atMs, data }) => {
    const fields = shown[type]
    if (!fields) return []
    const attributes: Attributes = Object.fromEntries(
      Object.entries(fields).map(([field, name]) => [name, plain(Reflect.get(data, field))]),
    )
    return [{ name: `isola.${type}`, atMs, attributes }]
  })
}

const plain = (value: unknown): AttributeValue | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? value
    : undefined

/** Limits for one run: as much as a session's memory can hold twice, beside the rows that spans are made of. */
const maxSpans = 2_000
const maxContentChars = 2_000_000

/** A turn and its children that become spans. */
export interface TurnPart {
  readonly turn: TurnRecord
  readonly requests: readonly ModelRequestEvent[]
  readonly calls: readonly CallRecord[]
}

/** The newest turns of a run that fit, in their order, and the number of spans left out. */
export function newestParts(turns: readonly TurnRecord[]): {
  readonly parts: readonly TurnPart[]
  readonly leftOut: number
} {
  const parts: TurnPart[] = []
  let room = maxSpans - 1 // the run's own
  let leftOut = 0
  for (const turn of turns.toReversed()) {
    const requests = turn.events.filter(isModelRequest)
    const { calls } = turn
    const spans = requests.length + calls.length
    if (spans === 0 && turn.events.length === 0) continue
    const kept = Math.min(spans, room - 1)
    leftOut += spans - Math.max(0, kept) + (room > 0 ? 0 : 1)
    if (room <= 0) continue
    room -= 1 + kept
    const keptCalls = newest(calls, kept)
    parts.unshift({ turn, calls: keptCalls, requests: newest(requests, kept - keptCalls.length) })
  }
  return { parts, leftOut }
}

const newest = <Item>(items: readonly Item[], count: number): readonly Item[] =>
  items.slice(Math.max(0, items.length - count))

const isModelRequest = (event: SessionEvent): event is ModelRequestEvent =>
  event.type === 'model_called' || event.type === 'model_failed'

/** Captures content until `maxContentChars` are reached; later content is only counted, not read. */
export function limitContent(content: ContentOf): ContentOf & { readonly leftOut: () => number } {
  let leftChars = maxContentChars
  let leftOut = 0
  const limited =
    <Given extends readonly unknown[]>(read: (...given: Given) => Attributes) =>
    (...given: Given): Attributes => {
      const attributes = leftChars > 0 ? read(...given) : undefined
      leftChars -= Object.values(attributes ?? {}).reduce(
        (sum: number, value) => sum + sizeOf(value),
        0,
      )
      if (attributes && leftChars >= 0) return attributes
      leftOut += 1
      return {}
    }
  return {
    ofRun: limited(content.ofRun),
    ofModelCall: limited(content.ofModelCall),
    ofCall: limited(content.ofCall),
    leftOut: () => leftOut,
  }
}

const sizeOf = (value: Attributes[string]) => (typeof value === 'string' ? value.length : 0)
