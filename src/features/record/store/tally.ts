import type { EventType, SessionEvent } from '#contracts/event.ts'
import { platformCostNanoUsd } from '#runtime/session/types/platform-usage.ts'
import { plusPlatform } from '#contracts/lease.ts'
import type { PlatformAmounts } from '#contracts/platform.ts'

/** The types of events that cost something; every report adds up the same. */
export const spendingTypes = [
  'model_called',
  'model_failed',
  'tool_finished',
  'isolate_started',
] as const

/** The fields by which reports group. */
const keys = ['provider', 'model', 'plugin', 'tool', 'code'] as const
const amounts = [
  'inputTokens',
  'outputTokens',
  'bookedTokens',
  'costNanoUsd',
  'bookedCostNanoUsd',
  'durationMs',
] as const

type Fields = Partial<
  Record<(typeof keys)[number], string> & Record<(typeof amounts)[number], number>
>

/**
 * Events that differ only in amounts, merged into one. The fields have the names and meanings that they have in
 * events.
 */
interface Tally {
  readonly type: EventType
  /** Time of the first merged event. */
  readonly atMs: number
  readonly data: Fields & {
    count: number
    /** How many events had a duration, and the longest. */
    withMs: number
    maxMs: number
  }
}

/** The sums of a row's events, by the names of their columns. */
export interface RowSums {
  readonly starts: number
  readonly spends: number
  readonly model_calls: number
  readonly model_answers: number
  readonly tool_calls: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly booked_tokens: number
  readonly cost_nano_usd: number
  readonly state: string | null
  readonly turns: number | null
  readonly platform: PlatformAmounts | null
  readonly platform_nano_usd: number | null
}

const columnsOfSums: Readonly<Record<keyof RowSums, true>> = {
  starts: true,
  spends: true,
  model_calls: true,
  model_answers: true,
  tool_calls: true,
  input_tokens: true,
  output_tokens: true,
  booked_tokens: true,
  cost_nano_usd: true,
  state: true,
  turns: true,
  platform: true,
  platform_nano_usd: true,
}
/** The columns of the sums. */
export const sumColumns: readonly string[] = Object.keys(columnsOfSums)

/** The sums and tallies of a row's events; `undefined` if the events end more than one run. */
export function addUp(
  events: readonly SessionEvent[],
): (RowSums & { readonly tally: readonly Tally[] }) | undefined {
  const ends = events.flatMap((event) => (event.type === 'run_finished' ? [event.data] : []))
  if (ends.length > 1) return undefined
  const [end] = ends
  const platform = platformIn(events)
  const tally = toTally(events)
  const sum = (of: (data: Tally['data'], type: EventType) => number) =>
    tally.reduce((total, { data, type }) => total + of(data, type), 0)
  const countIf = (test: (type: EventType, data: Fields) => boolean) =>
    sum((data, type) => (test(type, data) ? data.count : 0))
  return {
    starts: events.filter(({ type }) => type === 'run_started').length,
    spends: sum(({ count }) => count),
    // A failed request without a booked amount does not count as a call.
    model_calls: countIf((type, data) => type === 'model_called' || isBooked(type, data)),
    model_answers: countIf((type) => type === 'model_called'),
    tool_calls: countIf((type) => type === 'tool_finished'),
    input_tokens: sum(({ inputTokens = 0 }) => inputTokens),
    output_tokens: sum(({ outputTokens = 0 }) => outputTokens),
    booked_tokens: sum(({ bookedTokens = 0 }) => bookedTokens),
    cost_nano_usd: sum(
      ({ costNanoUsd, bookedCostNanoUsd }) => costNanoUsd ?? bookedCostNanoUsd ?? 0,
    ),
    state: end?.state ?? null,
    turns: end?.turns ?? null,
    platform: platform ?? null,
    platform_nano_usd: platform ? platformCostNanoUsd(platform) : null,
    tally,
  }
}

function platformIn(events: readonly SessionEvent[]): PlatformAmounts | undefined {
  const told = events.flatMap((event) =>
    event.type === 'run_finished' || event.type === 'run_parked' ? (event.data.platform ?? []) : [],
  )
  return told.length === 0 ? undefined : told.reduce(plusPlatform)
}

const isSpending = (event: SessionEvent): event is SessionEvent<(typeof spendingTypes)[number]> =>
  spendingTypes.some((type) => type === event.type)

const isBooked = (type: EventType, { bookedTokens = 0 }: Fields): boolean =>
  type === 'model_failed' && bookedTokens > 0

function toTally(events: readonly SessionEvent[]): readonly Tally[] {
  const tallies = new Map<string, Tally>()
  for (const { type, atMs, data } of events.filter(isSpending)) {
    const fields: Fields = data
    const id = JSON.stringify([type, isBooked(type, fields), ...keys.map((key) => fields[key])])
    const tally = tallies.get(id) ?? { type, atMs, data: emptyOf(fields) }
    tallies.set(id, tally)
    add(tally.data, fields)
  }
  return [...tallies.values()]
}

function emptyOf(fields: Fields): Tally['data'] {
  const empty: Tally['data'] = { count: 0, withMs: 0, maxMs: 0 }
  for (const key of keys) if (fields[key] !== undefined) empty[key] = fields[key]
  return empty
}

function add(data: Tally['data'], fields: Fields): void {
  data.count += 1
  for (const name of amounts) {
    const amount = fields[name]
    if (amount !== undefined) data[name] = (data[name] ?? 0) + amount
  }
  const { durationMs } = fields
  if (durationMs === undefined) return
  data.withMs += 1
  data.maxMs = Math.max(data.maxMs, durationMs)
}
