import { describe, expect, it } from 'vitest'
import { unlimited, zeroUsage } from '../../../src/contracts/lease.ts'
import {
  defaultPrincipalTiming,
  type DayAmount,
} from '../../../src/runtime/session/types/principal.ts'
import type { RunSpending } from '../../../src/runtime/session/types/submission.ts'
import { createDayLedger } from '../../../src/features/access/day-ledger.ts'
import { createPrincipalRows } from '../../../src/features/access/principal-rows.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'
import { createRandom } from '../../fakes/random.ts'
import { isNightly } from '../../setup/nightly.ts'

type DayLedger = ReturnType<typeof createDayLedger>

const dayMs = 86_400_000
const noon = Date.parse('2026-09-21T12:00:00Z')
const sweepEveryMs = 60_000
const tokensOnly = (tokens: number): DayAmount => ({ tokens, costNanoUsd: unlimited })
const spentTokens = (tokens: number): DayAmount => ({ tokens, costNanoUsd: 0 })

/** A ledger whose object can restart: what it knows is in the rows. */
function open() {
  const storage = createPrincipalStorage()
  const start = () =>
    createDayLedger(createPrincipalRows(storage), { ...defaultPrincipalTiming, sweepEveryMs })
  let ledger = start()
  return {
    storage,
    restart: () => void (ledger = start()),
    get ledger(): DayLedger {
      return ledger
    },
    ask: (run: string, asked: DayAmount, limits: DayAmount, nowMs = noon, step = 1) =>
      ledger.reserve({ principal: 'p', session: `ses_${run}`, run, asked, step }, limits, nowMs),
    usage: (limits: DayAmount, nowMs = noon, run?: string) => ledger.usage(limits, nowMs, run),
  }
}

describe('a day', () => {
  it('E1: gives what is asked, then what is left, then nothing', () => {
    const { ask, usage } = open()
    const limits = tokensOnly(100)
    expect(ask('a', tokensOnly(70), limits)).toMatchObject({ value: { tokens: 70 } })
    expect(ask('b', tokensOnly(70), limits)).toMatchObject({ value: { tokens: 30 } })
    expect(ask('c', tokensOnly(70), limits)).toEqual({
      ok: false,
      error: {
        code: 'lease_tokens',
        message:
          "The day's limit of this principal, 100 tokens, is used up or reserved. It resets at 2026-09-22 00:00 UTC.",
        retryAfterMs: dayMs / 2,
      },
    })
    expect(usage(limits)).toMatchObject({ reserved: { tokens: 100 }, openRuns: 2 })
  })

  it('E1: limits cost to the billionth of a dollar, and says which limit it was', () => {
    const { ask, ledger } = open()
    const limits = { tokens: unlimited, costNanoUsd: 2_500_000_001 }
    const asked = { tokens: 1_000, costNanoUsd: 2_500_000_000 }
    expect(ask('a', asked, limits)).toEqual({ ok: true, value: asked })
    expect(ask('b', asked, limits)).toMatchObject({ value: { tokens: 1_000, costNanoUsd: 1 } })
    ledger.settle('b', { tokens: 5, costNanoUsd: 1 }, noon)
    expect(ask('c', asked, limits)).toMatchObject({
      error: { code: 'lease_cost', message: expect.stringContaining('2.500000001 US dollars') },
    })
  })

  it('gives a run without a limit of its own an eighth of what is left, so that others run beside it', () => {
    const { ask } = open()
    const limits = tokensOnly(800_000)
    const granted = ['a', 'b', 'c'].map((run) => ask(run, tokensOnly(unlimited), limits))
    expect(granted).toMatchObject(
      [100_000, 87_500, 76_563].map((tokens) => ({ value: { tokens } })),
    )
    // A run that may spend more than a whole day gets no more.
    expect(ask('d', tokensOnly(1_000_000), limits)).toMatchObject({ value: { tokens: 66_993 } })
  })

  it('E1: counts what sessions hold for their next runs as left, and calls it back where less is there', () => {
    const { ask, ledger, usage } = open()
    const limits = tokensOnly(800_000)
    const next = { id: 'next:a', asked: tokensOnly(300_000) }
    const settlement = { principal: 'p', session: 'ses_a', run: 'a', spent: spentTokens(0) }
    expect(ledger.settleAndReserve({ ...settlement, next }, limits, noon)).toMatchObject({
      amount: { tokens: 300_000 },
    })
    expect(usage(limits)).toMatchObject({ reserved: { tokens: 300_000 }, openRuns: 0 })
    // An eighth of the whole day, as if no session held anything.
    const request = { principal: 'p', session: 'ses_b', run: 'b', asked: tokensOnly(unlimited) }
    expect(ledger.inTheWay(request, limits, noon)).toEqual([])
    expect(ask('b', tokensOnly(unlimited), limits)).toMatchObject({ value: { tokens: 100_000 } })
    const large = { ...request, run: 'c', asked: tokensOnly(600_000) }
    expect(ledger.inTheWay(large, limits, noon)).toMatchObject([{ run: 'next:a' }])
    ledger.checks.back('next:a', {}, noon)
    expect(ledger.inTheWay(large, limits, noon)).toEqual([])
    expect(ask('c', tokensOnly(600_000), limits)).toMatchObject({ value: { tokens: 600_000 } })
    // The day has less than twice as much: the rest is for runs that begin.
    expect(
      ledger.settleAndReserve(
        { ...settlement, next: { id: 'next:d', asked: tokensOnly(60_000) } },
        limits,
        noon,
      ),
    ).toBeUndefined()
  })

  it('gives 64 sessions a piece at a time', () => {
    const { ledger, usage } = open()
    const limits = tokensOnly(800_000)
    for (let at = 0; at < 70; at += 1) {
      const next = { id: `next:${at}`, asked: tokensOnly(10) }
      const of = { principal: 'p', session: `ses_${at}`, run: `${at}`, spent: spentTokens(0) }
      ledger.settleAndReserve({ ...of, next }, limits, noon)
    }
    expect(usage(limits)).toMatchObject({ reserved: { tokens: 640 } })
  })

  it('gives it no less than pays for something, while that is there', () => {
    const { ask } = open()
    const limits = tokensOnly(120_000)
    const granted = ['a', 'b', 'c'].map((run) => ask(run, tokensOnly(unlimited), limits))
    expect(granted).toMatchObject([50_000, 50_000, 20_000].map((tokens) => ({ value: { tokens } })))
    expect(ask('d', tokensOnly(unlimited), limits)).toMatchObject({ ok: false })
  })

  it('refuses nothing of what is not asked for', () => {
    const { ask } = open()
    const limits = { tokens: 100, costNanoUsd: 0 }
    expect(ask('a', { tokens: 10, costNanoUsd: 0 }, limits)).toMatchObject({ ok: true })
    expect(ask('b', { tokens: 10, costNanoUsd: 1 }, limits)).toMatchObject({ ok: false })
  })

  it('I10: reserves once for a run that asks twice, whatever it asks the second time', () => {
    const { ask, usage, restart } = open()
    ask('a', tokensOnly(60), tokensOnly(100))
    restart()
    expect(ask('a', tokensOnly(90), tokensOnly(100))).toMatchObject({ value: { tokens: 60 } })
    expect(usage(tokensOnly(100))).toMatchObject({ reserved: { tokens: 60 }, openRuns: 1 })
  })

  it('E1: gives a run that goes on with a raised limit more, though what it waits for keeps its reservation open', () => {
    const { ask, usage } = open()
    ask('a', tokensOnly(60), tokensOnly(100))
    ask('b', tokensOnly(10), tokensOnly(100))
    // It was parked, and nothing was settled: one of its calls works on elsewhere.
    for (const _again of [1, 2]) {
      expect(ask('a', tokensOnly(80), tokensOnly(100), noon, 2)).toMatchObject({
        value: { tokens: 80 },
      })
      expect(usage(tokensOnly(100))).toMatchObject({ reserved: { tokens: 90 }, openRuns: 2 })
    }
    expect(ask('a', tokensOnly(500), tokensOnly(600), noon, 3)).toMatchObject({
      value: { tokens: 500 },
    })
    // No more than the day has, and what is asked less, or is not there, takes nothing away.
    for (const [step, asked] of [900, 20].entries()) {
      expect(ask('a', tokensOnly(asked), tokensOnly(600), noon, 4 + step)).toMatchObject({
        value: { tokens: 590 },
      })
    }
    expect(ask('b', tokensOnly(20), tokensOnly(100), noon, 2)).toMatchObject({
      value: { tokens: 10 },
    })
  })

  it('I10: settles once; what a run says last counts, less or more', () => {
    const { ask, usage, ledger } = open()
    ask('a', tokensOnly(60), tokensOnly(100))
    for (const tokens of [50, 50, 20, 35]) {
      ledger.settle('a', spentTokens(tokens), noon)
      expect(usage(tokensOnly(100))).toMatchObject({
        settled: { tokens },
        reserved: { tokens: 0 },
        openRuns: 0,
      })
    }
  })

  it('E1: books what was never reserved, and writes nothing where nothing was spent', () => {
    const { ask, usage, ledger, storage } = open()
    ledger.settle('a', spentTokens(90), noon)
    ledger.settle('refused', spentTokens(0), noon)
    expect(storage.sql.exec('SELECT run FROM settled').toArray()).toEqual([{ run: 'a' }])
    expect(usage(tokensOnly(100))).toMatchObject({ settled: { tokens: 90 } })
    expect(ask('b', tokensOnly(90), tokensOnly(100))).toMatchObject({ value: { tokens: 10 } })
  })

  it('E1: books an overrun and gives nothing more', () => {
    const { ask, usage, ledger } = open()
    ask('a', tokensOnly(60), tokensOnly(100))
    ledger.settle('a', spentTokens(160), noon)
    expect(usage(tokensOnly(100))).toMatchObject({ settled: { tokens: 160 } })
    expect(ask('b', tokensOnly(1), tokensOnly(100))).toMatchObject({ ok: false })
  })

  it('E1: holds a lowered limit at once', () => {
    const { ask, ledger } = open()
    ask('a', tokensOnly(60), tokensOnly(100))
    expect(ask('b', tokensOnly(1), tokensOnly(50))).toMatchObject({ ok: false })
    ledger.settle('a', spentTokens(45), noon)
    expect(ask('b', tokensOnly(10), tokensOnly(50))).toMatchObject({ value: { tokens: 5 } })
  })

  it('lets a run that was settled go on with what it may spend besides', () => {
    const { ask, usage, ledger } = open()
    ask('a', tokensOnly(60), tokensOnly(100))
    ledger.settle('a', spentTokens(20), noon)
    ask('b', tokensOnly(50), tokensOnly(100))
    expect(ask('a', tokensOnly(60), tokensOnly(100))).toMatchObject({ value: { tokens: 50 } })
    expect(usage(tokensOnly(100))).toMatchObject({
      settled: { tokens: 0 },
      reserved: { tokens: 100 },
    })
    ledger.settle('a', spentTokens(50), noon)
    expect(usage(tokensOnly(100))).toMatchObject({
      settled: { tokens: 50 },
      reserved: { tokens: 50 },
    })
  })

  it('E1, T19: counts figures that are none as everything, and negative ones as nothing', () => {
    const { ask, usage, ledger } = open()
    ledger.settle('a', spentTokens(-50), noon)
    expect(usage(tokensOnly(100))).toMatchObject({ settled: { tokens: 0 } })
    for (const run of ['b', 'c']) ledger.settle(run, spentTokens(Number.NaN), noon)
    expect(usage(tokensOnly(100))).toMatchObject({ settled: { tokens: unlimited } })
    ledger.settle('b', spentTokens(1), noon)
    expect(ask('d', tokensOnly(1), tokensOnly(1_000))).toMatchObject({ ok: false })
  })

  it('leaves nothing behind of a step that fails, not even its tables', () => {
    const { storage, ledger, ask, usage } = open()
    const exec = storage.sql.exec.bind(storage.sql)
    storage.sql.exec = (query, ...values) => {
      if (query.includes('INSERT INTO leases')) throw new Error('database or disk is full')
      return exec(query, ...values)
    }
    expect(() => ask('a', tokensOnly(1), tokensOnly(100))).toThrow('full')
    storage.sql.exec = exec
    expect(exec('SELECT name FROM sqlite_master').toArray()).toEqual([])
    expect(usage(tokensOnly(100))).toMatchObject({ openRuns: 0 })
    expect(ask('a', tokensOnly(1), tokensOnly(100))).toMatchObject({ ok: true })
    expect(ledger.checks.nextMs(noon)).toBe(noon + sweepEveryMs)
  })
})

describe('the change of days', () => {
  const limits = tokensOnly(100)

  it('E1: opens a new day at midnight UTC; a run across it stays in its own', () => {
    const { ask, usage, ledger } = open()
    ask('a', tokensOnly(90), limits, noon)
    const tomorrow = noon + dayMs
    expect(ask('b', tokensOnly(90), limits, tomorrow)).toMatchObject({ value: { tokens: 90 } })
    ledger.settle('a', spentTokens(80), tomorrow)
    expect(usage(limits, tomorrow)).toMatchObject({
      day: '2026-09-22',
      settled: { tokens: 0 },
      reserved: { tokens: 90 },
    })
  })

  it('E1: F29: a clock that goes back opens no day again, and its refusal says when the day ends', () => {
    const { ask, usage, ledger, restart } = open()
    ask('a', tokensOnly(100), limits, noon + dayMs)
    ledger.settle('a', spentTokens(100), noon + dayMs)
    restart()
    expect(ask('b', tokensOnly(1), limits, noon)).toMatchObject({
      error: { message: expect.stringContaining('2026-09-23 00:00'), retryAfterMs: dayMs * 1.5 },
    })
    expect(usage(limits, noon)).toMatchObject({ day: '2026-09-22', settled: { tokens: 100 } })
  })

  it('E1: lets a run that waited go on in the day of then, and leaves what it had settled where it was', () => {
    const { ask, usage, ledger, restart } = open()
    const tomorrow = noon + dayMs
    ask('parked', tokensOnly(60), limits)
    ledger.settle('parked', spentTokens(10), noon, 1) // it waits for a person, and gives the rest back
    ask('other', tokensOnly(90), limits)
    ledger.settle('other', spentTokens(90), noon) // the day is used up
    restart()
    // What it may spend in all is what it was: 10 are spent, 50 are of the new day.
    expect(ask('parked', tokensOnly(60), limits, tomorrow, 2)).toMatchObject({
      value: { tokens: 60 },
    })
    expect(usage(limits, tomorrow)).toMatchObject({ reserved: { tokens: 50 } })
    expect(ask('parked', tokensOnly(60), limits, tomorrow, 2)).toMatchObject({
      value: { tokens: 60 },
    })
    restart()
    ledger.settle('parked', spentTokens(35), tomorrow, 2)
    ask('parked', tokensOnly(60), limits, tomorrow, 3)
    ledger.settle('parked', spentTokens(40), tomorrow, 3)
    expect(usage(limits, tomorrow)).toMatchObject({ settled: { tokens: 30 }, openRuns: 0 })
    expect(usage(limits, noon - 2 * dayMs).day).toBe('2026-09-22')
    // And once more, a day later.
    ask('parked', tokensOnly(60), limits, noon + 2 * dayMs, 4)
    ledger.settle('parked', spentTokens(45), noon + 2 * dayMs, 4)
    expect(usage(limits, noon + 2 * dayMs)).toMatchObject({ settled: { tokens: 5 } })
  })

  it('keeps 40 days, and a reservation as long as it is open', () => {
    const { storage, ask, ledger } = open()
    ask('open', tokensOnly(1), limits, noon)
    const days = () => storage.sql.exec('SELECT day FROM days ORDER BY day').toArray()
    for (let day = 0; day < 60; day += 1)
      ledger.settle(`run_${day}`, spentTokens(1), noon + day * dayMs)
    expect(days()).toHaveLength(41)
    expect(storage.sql.exec('SELECT * FROM settled').toArray()).toHaveLength(41)
    expect(storage.sql.exec('SELECT * FROM leases').toArray()).toHaveLength(1)
    ledger.settle('open', spentTokens(1), noon + 60 * dayMs)
    expect(days()[0]).toEqual({ day: '2026-09-21' })
    ledger.settle('late', spentTokens(1), noon + 61 * dayMs)
    expect(days()[0]).not.toEqual({ day: '2026-09-21' })
    ledger.settle('late', spentTokens(2), noon + 61 * dayMs, 2)
    const progress = () => storage.sql.exec('SELECT run FROM progress').toArray()
    expect(progress()).toEqual([{ run: 'late' }])
    ledger.settle('later', spentTokens(1), noon + 120 * dayMs)
    expect(progress()).toEqual([])
  })
})

describe('a run that is asked about', () => {
  const limits = tokensOnly(100)

  it('E1: may have what it holds, and what is left besides', () => {
    const { ask, usage, ledger } = open()
    ask('a', tokensOnly(60), limits)
    ask('b', tokensOnly(10), limits)
    expect(usage(limits, noon, 'a').most).toEqual({ tokens: 90, costNanoUsd: unlimited })
    // It is given just that when it goes on.
    expect(ask('a', tokensOnly(90), limits, noon, 2)).toMatchObject({ value: { tokens: 90 } })
    ledger.settle('a', spentTokens(30), noon, 2)
    expect(usage(limits, noon, 'a')).not.toHaveProperty('most')
    expect(usage(limits)).not.toHaveProperty('most')
  })

  it('E1: has it of the day of its reservation, with what earlier days had of it', () => {
    const { ask, usage, ledger } = open()
    ask('a', tokensOnly(60), limits)
    ledger.settle('a', spentTokens(20), noon)
    ask('a', tokensOnly(60), limits, noon + dayMs, 2)
    ask('c', tokensOnly(100), limits, noon + 2 * dayMs)
    expect(usage(limits, noon + 2 * dayMs, 'a')).toMatchObject({ most: { tokens: 120 } })
    expect(ask('a', tokensOnly(119), limits, noon + 2 * dayMs, 3)).toMatchObject({
      value: { tokens: 119 },
    })
    // A limit that was lowered meanwhile takes nothing of what it holds.
    expect(usage(tokensOnly(10), noon + 2 * dayMs, 'a')).toMatchObject({ most: { tokens: 119 } })
  })
})

describe('what arrives late', () => {
  const limits = tokensOnly(1_000)

  it('I10: does not end the reservation of a run that has gone on', () => {
    const { ask, usage, ledger, restart } = open()
    ask('a', tokensOnly(900), limits)
    // It waited, gave nothing back yet, and goes on: it has what it had.
    expect(ask('a', tokensOnly(900), limits, noon, 2)).toMatchObject({ value: { tokens: 900 } })
    restart()
    ledger.settle('a', spentTokens(0), noon, 1)
    expect(usage(limits)).toMatchObject({ reserved: { tokens: 900 } })
    expect(ask('b', tokensOnly(900), limits)).toMatchObject({ value: { tokens: 100 } })
    ledger.settle('a', spentTokens(300), noon, 2)
    expect(usage(limits)).toMatchObject({ settled: { tokens: 300 }, reserved: { tokens: 100 } })
  })

  it('I10: nor that of one that gave it back and reserved anew', () => {
    const { ask, usage, ledger } = open()
    ask('a', tokensOnly(900), limits)
    ledger.settle('a', spentTokens(100), noon, 1)
    ask('a', tokensOnly(900), limits, noon, 2)
    ledger.settle('a', spentTokens(100), noon, 1)
    expect(usage(limits)).toMatchObject({ settled: { tokens: 0 }, reserved: { tokens: 900 } })
  })

  it('I10: replaces nothing that was said at a later step', () => {
    const { ask, usage, ledger } = open()
    ask('a', tokensOnly(900), limits)
    ledger.settle('a', spentTokens(260), noon, 3)
    ledger.settle('a', spentTokens(800), noon, 2)
    expect(usage(limits)).toMatchObject({ settled: { tokens: 260 } })
    ledger.settle('a', spentTokens(270), noon, 4)
    expect(usage(limits)).toMatchObject({ settled: { tokens: 270 } })
  })
})

describe('what a sweep asks about', () => {
  const limits = tokensOnly(100)
  const said = (state: RunSpending['state'], tokens = 0): RunSpending => ({
    state,
    usage: { ...zeroUsage, tokens },
  })
  const askedAt = (ledger: DayLedger, nowMs: number) =>
    ledger.checks.start(nowMs).map(({ run }) => run)

  it('asks about no reservation before it has met it once: its run may not be written yet', () => {
    const { ledger, ask } = open()
    ask('a', tokensOnly(1), limits)
    expect(askedAt(ledger, noon)).toEqual([])
    expect(askedAt(ledger, noon + dayMs)).toEqual([])
    expect(askedAt(ledger, noon + dayMs)).toEqual([])
    expect(askedAt(ledger, noon + dayMs + sweepEveryMs)).toEqual(['a'])
  })

  it.each([
    ['unknown', { settled: { tokens: 0 }, reserved: { tokens: 0 }, openRuns: 0 }],
    ['over', { settled: { tokens: 7 }, reserved: { tokens: 0 }, openRuns: 0 }],
    ['parked', { settled: { tokens: 7 }, reserved: { tokens: 0 }, openRuns: 0 }],
    ['open', { settled: { tokens: 0 }, reserved: { tokens: 50 }, openRuns: 1 }],
    [undefined, { settled: { tokens: 0 }, reserved: { tokens: 50 }, openRuns: 1 }],
  ] as const)('I3: a run that is %s', (state, expected) => {
    const { ledger, ask, usage } = open()
    ask('a', tokensOnly(50), limits)
    ledger.checks.start(noon + sweepEveryMs)
    ledger.checks.finish('a', state && said(state, 7), noon + 2 * sweepEveryMs)
    expect(usage(limits)).toMatchObject(expected)
  })

  it('I3: says nothing about a run that was settled, or reserved anew, while the session was asked', () => {
    const { ledger, ask, usage } = open()
    ask('a', tokensOnly(50), limits)
    ledger.checks.start(noon + sweepEveryMs)
    ledger.settle('a', spentTokens(30), noon)
    ledger.checks.finish('a', said('over', 10), noon)
    expect(usage(limits)).toMatchObject({ settled: { tokens: 30 } })
    ask('a', tokensOnly(50), limits)
    ledger.checks.finish('a', said('unknown'), noon)
    expect(usage(limits)).toMatchObject({ reserved: { tokens: 50 } })
  })

  it('I10: an answer of before a run went on leaves its reservation open, and it is asked about again', () => {
    const { ledger, ask, usage } = open()
    ask('a', tokensOnly(50), limits)
    ledger.checks.start(noon + sweepEveryMs)
    ask('a', tokensOnly(50), limits, noon, 2)
    ledger.checks.finish('a', { ...said('parked', 7), step: 1 }, noon + sweepEveryMs)
    expect(usage(limits)).toMatchObject({ settled: { tokens: 0 }, reserved: { tokens: 50 } })
    expect(ledger.checks.nextMs(noon + sweepEveryMs)).toBe(noon + 3 * sweepEveryMs)
  })

  it('asks less and less often about a run that goes on, at least every hour', () => {
    const { ledger, ask } = open()
    ask('a', tokensOnly(50), limits)
    let nowMs = noon
    const pauses: number[] = []
    for (let count = 0; count < 9; count += 1) {
      const next = ledger.checks.nextMs(nowMs)!
      pauses.push((next - nowMs) / sweepEveryMs)
      nowMs = next
      for (const run of askedAt(ledger, nowMs)) ledger.checks.finish(run, said('open'), nowMs)
    }
    expect(pauses).toEqual([1, 1, 2, 4, 8, 16, 32, 60, 60])
  })

  it('F29: a clock that went back puts a question off by an hour at most', () => {
    const { ledger, ask } = open()
    ask('a', tokensOnly(50), limits, noon + 30 * dayMs)
    expect(ledger.checks.nextMs(noon)).toBe(noon)
  })
})

/** What a session knows of a run: the truth that the ledger must come to. */
interface Truth {
  readonly granted: number
  spent: number
  state: RunSpending['state']
  /** How often the run was parked. */
  parks: number
}

describe("E1: a principal's day is never overspent, whatever interleaves", () => {
  const histories = isNightly ? 300 : 60
  const limit = 1_000
  const limits = tokensOnly(limit)
  const allDays = (storage: ReturnType<typeof open>['storage']) => {
    const exists = storage.sql.exec(`SELECT 1 FROM sqlite_master WHERE name = 'days'`).toArray()
    if (exists.length === 0) return []
    const sum = `SELECT days.day AS day, days.tokens AS settled, coalesce((
      SELECT sum(tokens) FROM leases WHERE leases.day = days.day), 0) AS reserved FROM days`
    return storage.sql.exec(sum).toArray() as { day: string; settled: number; reserved: number }[]
  }

  /** Runs that keep to what they got: reserved, spent, crashed, settled late, twice or never. */
  function honestHistory(seed: number) {
    const random = createRandom(seed)
    const at = open()
    const truths = new Map<string, Truth>()
    let nowMs = noon
    let refused = 0
    const anyRun = () => [...truths.keys()][random.int(0, truths.size - 1)]
    const stepOf = ({ state, parks }: Truth) => (state === 'over' ? 1_000 : parks)
    /** Reports that may still be on their way: each arrives late, twice, in any order, or never. */
    const onItsWay: (() => void)[] = []
    const settle = (run: string) => {
      const truth = truths.get(run)!
      const word = [run, spentTokens(truth.spent), stepOf(truth)] as const
      onItsWay.push(() => at.ledger.settle(word[0], word[1], nowMs, word[2]))
      if (random.chance(0.6)) onItsWay.at(-1)!()
    }
    const sweep = () => {
      for (const { run } of at.ledger.checks.start(nowMs)) {
        if (random.chance(0.1)) at.ledger.checks.finish(run, undefined, nowMs)
        else {
          const truth = truths.get(run)!
          const usage = { ...zeroUsage, tokens: truth.spent }
          const said = { state: truth.state, usage, step: stepOf(truth) }
          at.ledger.checks.finish(run, said, nowMs)
        }
      }
    }
    const steps: readonly (() => void)[] = [
      () => {
        const run = `run_${truths.size}`
        const asked = random.chance(0.2) ? unlimited : random.int(0, 600)
        const reply = at.ask(run, tokensOnly(asked), limits, nowMs)
        if (!reply.ok) return void (refused += 1)
        const state = random.chance(0.1) ? 'unknown' : 'open'
        truths.set(run, { granted: reply.value.tokens, spent: 0, state, parks: 0 })
      },
      () => {
        const truth = truths.get(anyRun() ?? '')
        if (truth?.state !== 'open') return
        truth.spent = random.int(truth.spent, truth.granted)
        if (random.chance(0.5)) truth.state = 'over'
      },
      () => {
        const run = anyRun()
        if (run !== undefined && truths.get(run)?.state === 'over') settle(run)
      },
      () => {
        const run = anyRun()
        const truth = truths.get(run ?? '')
        if (run !== undefined && truth?.state === 'open' && truth.spent > 0) {
          truth.parks += 1
          settle(run) // on its way, and then it goes on
          if (random.chance(0.2)) nowMs += dayMs
          const next = truth.parks + 1
          const reply = at.ask(run, tokensOnly(truth.granted), limits, nowMs, next)
          // Others took what it gave back: it has what it spent, and ends.
          if (!reply.ok || reply.value.tokens < truth.granted) truth.state = 'over'
        }
      },
      sweep,
      () => onItsWay[random.int(0, onItsWay.length - 1)]?.(),
      () => void (nowMs += random.int(0, 2 * sweepEveryMs)),
      () => void (random.chance(0.2) && (nowMs += random.int(-2, 2) * dayMs)),
      () => at.restart(),
    ]
    const check = () => {
      for (const { day, settled, reserved } of allDays(at.storage))
        expect(settled + reserved, `seed ${seed}, ${day}`).toBeLessThanOrEqual(limit)
    }
    for (let step = 0; step < 60; step += 1) {
      steps[random.int(0, steps.length - 1)]!()
      check()
    }
    // Everything crashes, nothing is settled by its session any more: the sweeps come to the truth.
    at.restart()
    for (const truth of truths.values()) if (truth.state === 'open') truth.state = 'over'
    for (let round = 0; round < 40 && at.ledger.checks.nextMs(nowMs) !== undefined; round += 1) {
      nowMs = Math.max(nowMs, at.ledger.checks.nextMs(nowMs)!)
      sweep()
      check()
    }
    const days = allDays(at.storage)
    const spent = [...truths.values()].reduce((sum, truth) => sum + truth.spent, 0)
    expect(
      days.reduce((sum, { reserved }) => sum + reserved, 0),
      `seed ${seed}`,
    ).toBe(0)
    expect(
      days.reduce((sum, { settled }) => sum + settled, 0),
      `seed ${seed}`,
    ).toBe(spent)
    return { runs: truths.size, refused }
  }

  it(`holds at each step of ${histories} histories, and every reservation is freed or settled`, () => {
    let runs = 0
    let refused = 0
    for (let seed = 1; seed <= histories; seed += 1) {
      const history = honestHistory(seed)
      runs += history.runs
      refused += history.refused
    }
    // The histories must be worth something: days that were used up, and runs that got their part.
    expect(refused).toBeGreaterThan(histories / 2)
    expect(runs).toBeGreaterThan(histories * 3)
  })

  it('gives nothing beyond the limit of the moment, whatever is booked over it', () => {
    for (let seed = 1; seed <= (isNightly ? 100 : 20); seed += 1) {
      const random = createRandom(seed)
      const at = open()
      let nowMs = noon
      for (let step = 0; step < 60; step += 1) {
        nowMs += random.int(-dayMs, dayMs)
        const run = `run_${random.int(0, 20)}`
        const now = tokensOnly(random.int(0, limit))
        const used = () => {
          const { settled, reserved } = at.usage(now, nowMs)
          return settled.tokens + reserved.tokens
        }
        const before = used()
        if (random.chance(0.4)) at.ledger.settle(run, spentTokens(random.int(0, 500)), nowMs)
        else if (at.ask(run, tokensOnly(random.int(1, 500)), now, nowMs).ok)
          expect(used(), `seed ${seed}`).toBeLessThanOrEqual(Math.max(before, now.tokens))
      }
    }
  })
})
