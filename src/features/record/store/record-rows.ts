import type { SessionEvent } from '#contracts/event.ts'
import type { AuditOwner } from '#runtime/session/types/audit-sink.ts'
import type { PlatformAmounts } from '#contracts/platform.ts'
import type { Database, Statement } from '#platform/d1/database.ts'
import { idsPerMs, newestId, nowMs, spanMs } from '#platform/d1/record-sql.ts'
import { addUp, sumColumns } from './tally.ts'

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

// Writes a whole chunk. If the record has its beginning already, it writes nothing, and the caller asks which events
// are new.
const insert = `
  INSERT INTO audit_runs (id, session, since_ms, first_seq, last_seq, run, trace, agent, principal, from_ms, to_ms,
    off_time, events, tally, others, ${sumColumns.join(', ')})
  SELECT id, ?1, ?2, ${field('first')}, ${field('last')}, ${field('run')}, ${field('trace')}, ${field('agent')}, ?3,
    ${field('from')}, to_ms, id NOT BETWEEN (to_ms - ${spanMs}) * ${idsPerMs} AND (to_ms + ${spanMs}) * ${idsPerMs},
    ${field('events', '->')}, ${field('tally', '->')}, ${field('others')}, ${sumColumns.map((name) => field(name)).join(', ')}
  FROM (
    SELECT fullkey AS place, base + (?4->>(fullkey || '.ahead')) AS id, ?4->>(fullkey || '.to') AS to_ms
    FROM (SELECT max(${newestId}, ${nowMs} * ${idsPerMs}) AS base, ${known} AS known), json_each(?4)
    WHERE known < ?5)`

/** The statement that writes a chunk; writes nothing if the record has any of it already. */
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
