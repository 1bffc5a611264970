import type { EventType, SessionEvent } from '#contracts/event.ts'
import { platformCostNanoUsd } from '#runtime/session/types/platform-usage.ts'
import { plusPlatform } from '#contracts/lease.ts'
import type { PlatformAmounts } from '#contracts/platform.ts'
import type { AuditOwner } from '#runtime/session/types/audit-sink.ts'
import type { Database, Statement } from '#platform/d1/database.ts'
import { idsPerMs, newestId, nowMs, spanMs } from '#platform/d1/record-sql.ts'

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

/** The columns of the sums of a row's events. */
const sumColumns = [
  'starts',
  'spends',
  'model_calls',
  'model_answers',
  'tool_calls',
  'input_tokens',
  'output_tokens',
  'booked_tokens',
  'cost_nano_usd',
  'state',
  'turns',
  'platform',
  'platform_nano_usd',
] as const
/** A sum for each column. */
export type RowSums<Sum> = Readonly<Record<(typeof sumColumns)[number], Sum>>

/** The sums and tallies of a row's events; `undefined` if the events end more than one run. */
function addUp(
  events: readonly SessionEvent[],
): (RowSums<unknown> & { readonly tally: readonly Tally[] }) | undefined {
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

// A bound value of D1 may have 2 MB; a character may have three bytes.
const maxChars = 500_000

/** Events that share a row: consecutive events of one run, within a minute. */
interface Stretch {
  readonly events: readonly SessionEvent[]
  /** Each event as JSON, in the same order. */
  readonly texts: readonly string[]
  readonly fromMs: number
  readonly toMs: number
}

/** The stretches that one statement writes. */
export interface Chunk {
  readonly stretches: readonly Stretch[]
  readonly firstSeq: number
  readonly lastSeq: number
}

/** Cuts a part of a session's log into rows, and the rows into chunks for one statement each. */
export function toChunks(events: readonly SessionEvent[]): readonly Chunk[] {
  const chunks: { stretches: Stretch[]; firstSeq: number; lastSeq: number }[] = []
  let sizeChars = maxChars
  let open: { events: SessionEvent[]; texts: string[]; fromMs: number; toMs: number } | undefined
  for (const event of events) {
    const { seq, atMs } = event
    const text = toText(event)
    if (sizeChars + text.length >= maxChars) {
      chunks.push({ stretches: [], firstSeq: seq, lastSeq: seq })
      sizeChars = 0
      open = undefined
    }
    const fromMs = Math.min(open?.fromMs ?? atMs, atMs)
    const toMs = Math.max(open?.toMs ?? atMs, atMs)
    if (!open || toMs - fromMs > spanMs || !isNext(open.events.at(-1)!, event)) {
      open = { events: [event], texts: [text], fromMs: atMs, toMs: atMs }
      chunks.at(-1)?.stretches.push(open)
    } else {
      open.events.push(event)
      open.texts.push(text)
      Object.assign(open, { fromMs, toMs })
    }
    Object.assign(chunks.at(-1)!, { lastSeq: seq })
    sizeChars += text.length
  }
  return chunks
}

const isNext = (last: SessionEvent, { seq, run, agent, trace }: SessionEvent): boolean =>
  seq === last.seq + 1 && run === last.run && agent === last.agent && trace === last.trace

/** An event too large for a row keeps its place without its data, and says so; the session has the whole event. */
function toText({ type, atMs, data }: SessionEvent): string {
  const text = JSON.stringify({ type, atMs, data })
  if (text.length < maxChars) return text
  return JSON.stringify({ type, atMs, data: { oversizeChars: text.length } })
}

/** How far a session's log (`?1`, `?2`) has arrived: by its row in the list or, without one, by the record. */
const recorded = `coalesce(
  (SELECT last_seq FROM audit_runs WHERE session = ?1 AND since_ms = ?2 ORDER BY id DESC LIMIT 1), 0)`
const known = `coalesce((SELECT seq FROM sessions WHERE id = ?1 AND since_ms = ?2), ${recorded})`

/** A field of the row at `place`, read from the one bound JSON value, which SQLite parses once. */
const field = (name: string, as: '->' | '->>' = '->>') => `?4${as}(place || '.${name}')`

// Writes a whole chunk, and returns a row for each of its own. If the record has its beginning already, it writes and
// returns nothing, and the caller asks which events are new.
const insert = `
  INSERT INTO audit_runs (id, session, since_ms, first_seq, last_seq, run, trace, agent, principal, from_ms, to_ms,
    off_time, events, tally, others, ${sumColumns.join(', ')})
  SELECT id, ?1, ?2, ${field('first')}, ${field('last')}, ${field('run')}, ${field('trace')}, ${field('agent')}, ?3,
    ${field('from')}, to_ms, id NOT BETWEEN (to_ms - ${spanMs}) * ${idsPerMs} AND (to_ms + ${spanMs}) * ${idsPerMs},
    ${field('events', '->')}, ${field('tally', '->')}, ${field('others')}, ${sumColumns.map((name) => field(name)).join(', ')}
  FROM (
    SELECT fullkey AS place, base + (?4->>(fullkey || '.ahead')) AS id, ?4->>(fullkey || '.to') AS to_ms
    FROM (SELECT max(${newestId}, ${nowMs} * ${idsPerMs}) AS base, ${known} AS known), json_each(?4)
    WHERE known < ?5)
  RETURNING last_seq`

/** The statement that writes a chunk; writes and returns nothing if the record has any of it already. */
export function writeChunk(
  database: Database,
  { session, sinceMs, principal }: AuditOwner,
  { stretches, firstSeq, others = {} }: Chunk & { readonly others?: PlatformAmounts },
): Statement {
  let ahead = 0
  const rows = stretches.map(({ events, texts, fromMs: from, toMs: to }) => {
    const { seq: first, run, trace, agent } = events[0]!
    ahead += events.length
    const last = events.at(-1)?.seq
    const about = JSON.stringify({
      first,
      last,
      run,
      trace,
      agent,
      ahead,
      from,
      to,
      ...addUp(events),
      ...(ahead === events.length && Object.keys(others).length > 0 && { others }),
    })
    return `${about.slice(0, -1)},"events":[${texts.join(',')}]}`
  })
  return database.prepare(insert).bind(session, sinceMs, principal, `[${rows.join(',')}]`, firstSeq)
}

/** The statement that asks how far a session's log has arrived: `seq`. */
export const askKnown = (database: Database, { session, sinceMs }: AuditOwner): Statement =>
  database.prepare(`SELECT ${known} AS seq`).bind(session, sinceMs)

/** Whether the record has everything up to `?9`: the list must not run ahead of the record. */
export const hasLanded = `${recorded} >= ?9`
