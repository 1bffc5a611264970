import type { EventData, EventType, SessionEvent } from '#contracts/event.ts'
import type { Attributes, AttributeValue, SpanEvent } from './span.ts'

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
