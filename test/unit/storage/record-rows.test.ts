import { describe, expect, it } from 'vitest'
import type { EventType, SessionEvent } from '../../../src/contracts/event.ts'
import type {
  AuditCursor,
  AuditQuery,
  AuditReader,
} from '../../../src/features/record/types/operations.ts'
import { createAuditSink } from '../../../src/features/record/store/audit-log.ts'
import { createAuditReader } from '../../../src/features/record/store/audit-reader.ts'
import {
  createMetricsReport,
  createModelReport,
} from '../../../src/features/record/store/metrics-report.ts'
import { createUsageReport } from '../../../src/features/record/store/usage-report.ts'
import { batchOf } from '../../fakes/audit-batch.ts'
import { storedEvent } from '../../fakes/events.ts'
import { createRandom } from '../../fakes/random.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'

const hourMs = 3_600_000
const nowMs = Date.now()
const types: EventType[] = [
  'run_started',
  'model_called',
  'tool_started',
  'tool_finished',
  'run_finished',
]

interface Arrival {
  readonly owner: { readonly session: string; readonly principal: string; readonly sinceMs: number }
  readonly events: readonly SessionEvent[]
}

/** Batches as they arrive: most a moment after they happened, some hours late, some with a clock that is ahead. */
function arrivals(seed: number): readonly Arrival[] {
  const { next: random } = createRandom(seed)
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!
  const lastSeq = new Map<string, number>()
  return Array.from({ length: 36 }, () => {
    const name = pick(['a', 'b', 'c', 'd'])
    let seq = lastSeq.get(name) ?? 0
    let atMs = nowMs + pick([0, 0, 0, -5_000, -50_000, -2 * hourMs, -2 * hourMs - 40_000, hourMs])
    const run = `run_${name}${Math.floor(seq / 9)}`
    const events = Array.from({ length: 1 + Math.floor(random() * 7) }, (): SessionEvent => {
      const type = pick(types)
      atMs += Math.floor(random() * 20_000) - 2_000
      const cost = {
        provider: 'p',
        model: pick(['m', 'n']),
        inputTokens: 3,
        costNanoUsd: 7,
        durationMs: 5,
      }
      const data = {
        ...(random() < 0.5 && { plugin: pick(['kv', 'web']) }),
        ...(type === 'model_called' && cost),
        ...(type === 'tool_finished' && {
          tool: pick(['kv__get', 'web__get']),
          ok: true,
          durationMs: 9,
        }),
        ...(type === 'run_finished' && { state: 'completed', turns: 2 }),
      }
      const agent = name === 'd' ? 'code-reviewer' : 'orchestrator'
      const trace = `t${pick(['1', '2'])}`
      return storedEvent({ seq: (seq += 1), run, agent, trace, atMs, type, data })
    })
    lastSeq.set(name, seq)
    return {
      owner: { session: `ses_${name}`, principal: name < 'c' ? 'ann' : 'bob', sinceMs: 1 },
      events,
    }
  })
}

/** The same record, each batch as it arrives or one event at a time: its rows are others then. */
async function stored(all: readonly Arrival[], isOneByOne: boolean) {
  const { database } = createSqliteDatabase()
  const sink = createAuditSink(database)
  for (const { owner, events } of all)
    for (const batch of isOneByOne ? events.map((event) => [event]) : [events])
      await sink.append(owner, batchOf(batch))
  const models = createModelReport(database)
  return {
    reader: createAuditReader(database),
    usage: createUsageReport(database),
    metrics: createMetricsReport(database, models),
  }
}

async function pagesOf(reader: AuditReader, query: Omit<AuditQuery, 'limit'>, limit: number) {
  const found: unknown[] = []
  for (let after: AuditCursor | undefined; ;) {
    const { records, next } = await reader.query({ ...query, limit, ...(after && { after }) })
    expect(records.length).toBeLessThanOrEqual(limit)
    found.push(...records)
    if (!next) return found
    after = next
  }
}

const queries: Omit<AuditQuery, 'limit'>[] = [
  {},
  { session: 'ses_a' },
  { trace: 't1' },
  { trace: 't2', session: 'ses_b' },
  { principal: 'ann' },
  { agent: 'code-reviewer' },
  { type: 'tool_*' },
  { plugin: 'kv', type: 'model_called' },
  { sinceMs: nowMs - 60_000 },
  { sinceMs: nowMs - 3 * hourMs, untilMs: nowMs - hourMs },
  { sinceMs: nowMs - 10_000, untilMs: nowMs + 10_000, plugin: 'web' },
  { session: 'ses_c', sinceMs: nowMs - 30_000 },
]

describe.each([1, 2])('the record, however it is cut into rows (%i)', (seed) => {
  it('is read the same, in both orders and page by page', async () => {
    const all = arrivals(seed)
    const [single, batches] = await Promise.all([stored(all, true), stored(all, false)])
    for (const query of queries)
      for (const order of ['asc', 'desc'] as const) {
        const expected = await pagesOf(single.reader, { ...query, order }, 500)
        for (const limit of [500, 9])
          expect(
            await pagesOf(batches.reader, { ...query, order }, limit),
            JSON.stringify(query),
          ).toEqual(expected)
      }
  })

  it('is added up the same', async () => {
    const all = arrivals(seed)
    const [single, batches] = await Promise.all([stored(all, true), stored(all, false)])
    for (const sinceMs of [nowMs - 20_000, nowMs - 3 * hourMs]) {
      expect(await batches.metrics.since(sinceMs)).toEqual(await single.metrics.since(sinceMs))
      for (const by of ['principal', 'agent', 'model', 'plugin', 'session'] as const)
        for (const untilMs of [nowMs + 5_000, nowMs + 3 * hourMs]) {
          const query = { by, sinceMs, untilMs, limit: 100 }
          expect(await batches.usage.sum(query)).toEqual(await single.usage.sum(query))
        }
    }
  })
})

describe('a batch of the record', () => {
  const owner = { session: 'ses_a', principal: 'ann', sinceMs: 1 }
  const about = { run: 'run_1', agent: 'orchestrator', trace: 'aa', atMs: nowMs, data: {} }
  const event = (seq: number) => storedEvent({ ...about, seq, type: 'tool_finished' })
  const events = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, at) => event(from + at))
  it.each([
    [
      'that was cut and comes again with more behind it',
      [
        [1, 5],
        [1, 9],
        [4, 12],
      ],
    ],
    [
      'that was thought lost and comes last',
      [
        [1, 5],
        [6, 9],
        [1, 5],
        [6, 7],
        [10, 12],
      ],
    ],
    [
      'that comes twice',
      [
        [1, 12],
        [1, 12],
      ],
    ],
  ])('M5: %s lands once', async (_what, cuts) => {
    const { database } = createSqliteDatabase()
    const sink = createAuditSink(database)
    for (const [from = 0, to = 0] of cuts) await sink.append(owner, batchOf(events(from, to)))
    const { records } = await createAuditReader(database).query({ session: 'ses_a', limit: 100 })
    expect(records.map(({ seq }) => seq)).toEqual(events(1, 12).map(({ seq }) => seq))
    expect(await sink.watermark(owner)).toBe(12)
  })

  it('M5: that comes after its session was taken off the list lands once', async () => {
    const { database } = createSqliteDatabase()
    const sink = createAuditSink(database)
    await sink.append(owner, batchOf(events(1, 5)))
    await sink.unlist(owner)
    await sink.append(owner, batchOf(events(1, 5)))
    const { records } = await createAuditReader(database).query({ session: 'ses_a', limit: 100 })
    expect(records).toHaveLength(5)
  })
})
