import type { SessionEvent } from '#contracts/event.ts'
import type { CallRecord, TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { ContentOf } from './content.ts'
import type { Attributes, ModelRequestEvent } from './span.ts'

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
