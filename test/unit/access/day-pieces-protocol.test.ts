import { describe, expect, it } from 'vitest'
import { unlimited, zeroUsage } from '#contracts/lease.ts'
import {
  defaultPrincipalTiming,
  type DayAmount,
  type DayPiece,
  type DaySettlement,
  type DayLeaseRequest,
  type HeldPieces,
} from '#runtime/session/types/principal.ts'
import type { PieceAnswer, RunSpending } from '#runtime/session/types/submission.ts'
import { isNightly } from '../../setup/nightly.ts'
import { minus, nothing, plus } from '../../../src/features/access/day.ts'
import { createDayLedger } from '../../../src/features/access/day-ledger.ts'
import { isPiece } from '../../../src/features/access/day-pieces.ts'
import type {
  LeaseRow,
  PrincipalRows,
  ProgressRow,
} from '../../../src/features/access/principal-rows.ts'
import {
  givePieceBack,
  noPieces,
  takePiece,
  withoutTaken,
} from '../../../src/runtime/session/runs/day-pieces.ts'

/**
 * A small model of three sessions that spend one day: messages that come late or never, pieces that are called back,
 * sessions and a principal's object that end at any moment, and midnight. Every interleaving up to a depth is looked
 * at. The day's ledger and the pieces of a session are the code itself; the wire between them is here.
 */
interface World {
  readonly day: number
  readonly rows: Rows
  readonly sessions: readonly Session[]
  readonly wire: readonly Message[]
  /** Reservations that wait at the principal's object for pieces. */
  readonly waiting: readonly Waiting[]
  /** What really was spent, by day. */
  readonly spent: Readonly<Record<string, number>>
  readonly ends: number
  readonly lost: number
  readonly wrong: string
}
interface Rows {
  readonly leases: Readonly<Record<string, LeaseRow>>
  readonly settled: Readonly<Record<string, { readonly day: string; readonly amount: DayAmount }>>
  readonly progress: Readonly<Record<string, ProgressRow>>
  readonly days: Readonly<Record<string, DayAmount>>
}
interface Session {
  readonly held: HeldPieces
  readonly asking: string
  /** The run under way, with what it may spend. */
  readonly live: { readonly run: string; readonly amount: number; readonly day: string } | null
  /** The run that waits for its reservation. */
  readonly asks: string
  /** What the runs that are over have spent; a run that never began is not in it. */
  readonly over: Readonly<Record<string, number>>
  readonly runs: number
}
type Message =
  | { readonly kind: 'reserve'; readonly request: DayLeaseRequest; readonly isOrphan: boolean }
  | {
      readonly kind: 'reserved'
      readonly at: number
      readonly run: string
      readonly amount: number
      readonly day: string
    }
  | { readonly kind: 'settle'; readonly request: DaySettlement; readonly isOrphan: boolean }
  | {
      readonly kind: 'settled'
      readonly at: number
      readonly request: DaySettlement
      readonly piece: DayPiece | null
    }
  | { readonly kind: 'back'; readonly at: number; readonly piece: string }
  | { readonly kind: 'answer'; readonly piece: string; readonly answer: PieceAnswer }
interface Waiting {
  readonly request: DayLeaseRequest
  readonly isOrphan: boolean
  readonly asked: readonly string[]
  readonly open: readonly string[]
}

/** What the protocol would be without one of its parts. */
interface Variant {
  /** A piece is accepted although it was called back while its reply was under way. */
  readonly acceptsLate?: true
  /** A settlement that was not acknowledged forgets which piece its run worked on. */
  readonly forgetsTaken?: true
  /** A session that does not answer has lost its piece. */
  readonly takesUnanswered?: true
  /** No piece is called back for a run that begins. */
  readonly neverCalls?: true
  /** A session gets a piece while another one waits for money. */
  readonly givesMeanwhile?: true
}

const limit = 6
const asks = [1, 1, 4]
const mostRuns = [2, 2, 1]
const limits: DayAmount = { tokens: limit, costNanoUsd: unlimited }
const tokens = (count: number): DayAmount => ({ tokens: count, costNanoUsd: 0 })
const askedBy = (at: number): DayAmount => ({ tokens: asks[at]!, costNanoUsd: unlimited })
const noon = Date.parse('2026-09-21T12:00:00Z')
const nowOf = ({ day }: World) => noon + day * 86_400_000
const dayOf = (world: World) => new Date(nowOf(world)).toISOString().slice(0, 10)
const session: Session = { held: noPieces, asking: '', live: null, asks: '', over: {}, runs: 0 }
const begin: World = {
  day: 0,
  rows: { leases: {}, settled: {}, progress: {}, days: {} },
  sessions: [session, session, session],
  wire: [],
  waiting: [],
  spent: {},
  ends: 0,
  lost: 0,
  wrong: '',
}

/** The ledger over plain rows: the rows it leaves, and what it says. */
function withLedger<T>(
  rows: Rows,
  work: (ledger: ReturnType<typeof createDayLedger>, tables: PrincipalRows) => T,
): readonly [Rows, T] {
  const leases = { ...rows.leases }
  const settled = { ...rows.settled }
  const progress = { ...rows.progress }
  const days = { ...rows.days }
  const book = (day: string, amount: DayAmount) =>
    void (days[day] = plus(days[day] ?? nothing, amount))
  const tables: PrincipalRows = {
    together: (step) => step(),
    leases: () => Object.values(leases).toSorted((a, b) => (a.run < b.run ? -1 : 1)),
    lease: (run) => leases[run],
    openLease: (row) => {
      if (leases[row.run]) throw new Error(`${row.run} has a reservation`)
      leases[row.run] = { ...row, checks: 0 }
    },
    closeLease: (run) => void delete leases[run],
    checkLater: (run, nextCheckMs) => {
      const row = leases[run]
      if (row) leases[run] = { ...row, checks: row.checks + 1, nextCheckMs }
    },
    lastDay: () => Object.keys(days).toSorted().at(-1),
    openDay: (day) => void (days[day] ??= nothing),
    dropDaysBefore: () => {},
    settledIn: (day) => days[day] ?? nothing,
    settled: (run) => (settled[run] ? { run, ...settled[run] } : undefined),
    writeSettled: ({ run, day, amount }) => {
      book(day, minus(amount, settled[run]?.amount ?? nothing))
      settled[run] = { day, amount }
    },
    removeSettled: (run) => {
      const row = settled[run]
      if (row) book(row.day, minus(nothing, row.amount))
      delete settled[run]
    },
    leaveSettled: (run) => void delete settled[run],
    progress: (run) => progress[run] ?? { run, step: 0, base: nothing },
    writeProgress: (row) => void (progress[row.run] = row),
  }
  const value = work(createDayLedger(tables, defaultPrincipalTiming), tables)
  return [{ leases, settled, progress, days }, value]
}

const change = (world: World, at: number, more: Partial<Session>): World => ({
  ...world,
  sessions: world.sessions.map((one, index) => (index === at ? { ...one, ...more } : one)),
})
const send = (world: World, ...messages: Message[]): World => ({
  ...world,
  wire: [...world.wire, ...messages],
})
const without = (world: World, message: Message): World => ({
  ...world,
  wire: world.wire.filter((one) => one !== message),
})
const placeOf = (id: string) => Number(id.split('_').at(-1)!.split(':').at(-1)!.slice(0, 1))
const nameOf = (at: number) => `ses_${at}`
const spendingOf = ({ live, asks: waits, over }: Session, run: string): RunSpending => {
  if (live?.run === run || waits === run) return { state: 'open', usage: zeroUsage }
  const spent = over[run]
  return spent === undefined
    ? { state: 'unknown', usage: zeroUsage }
    : { state: 'over', usage: { ...zeroUsage, tokens: spent }, step: 1_000_000_000 }
}

function beginRun(world: World, at: number): World {
  const { held, runs } = world.sessions[at]!
  const run = `run_${at}${runs}`
  const need = { run, asked: askedBy(at), limits, day: dayOf(world) }
  const taken = takePiece(held, need)
  const counted = { runs: runs + 1 }
  if (taken) {
    const live = { run, amount: taken.amount.tokens, day: need.day }
    return change(world, at, { ...counted, held: taken.held, live })
  }
  const back = held.free?.id
  const request = { principal: 'p', session: nameOf(at), run, asked: need.asked, step: 1 }
  return send(change(world, at, { ...counted, held: { taken: held.taken }, asks: run }), {
    kind: 'reserve',
    request: { ...request, ...(back !== undefined && { back }) },
    isOrphan: false,
  })
}

function endRun(world: World, at: number, spent: number, variant: Variant): World {
  const { live, held, asking, over } = world.sessions[at]!
  const { run, day } = live!
  const piece = Object.entries(held.taken).find(([, one]) => one === run)?.[0]
  const next = !held.free && asking === '' ? { id: `next:${run}`, asked: askedBy(at) } : undefined
  const after = change(world, at, {
    live: null,
    over: { ...over, [run]: spent },
    ...(next && { asking: next.id }),
    ...(variant.forgetsTaken && { held: { ...held, taken: {} } }),
  })
  const request = {
    principal: 'p',
    session: nameOf(at),
    run,
    step: 1_000_000_000,
    spent: tokens(spent),
    ...(piece !== undefined && { piece }),
    ...(next && { next }),
  }
  return send(
    { ...after, spent: { ...world.spent, [day]: (world.spent[day] ?? 0) + spent } },
    { kind: 'settle', request, isOrphan: false },
  )
}

/** The principal's object decides, or asks for pieces first. */
function decide(world: World, one: Waiting, variant: Variant): World {
  const others = { ...world, waiting: world.waiting.filter((other) => other !== one) }
  const [, inTheWay] = withLedger(world.rows, (ledger) =>
    ledger.inTheWay(one.request, limits, nowOf(world)),
  )
  const next = variant.neverCalls ? [] : inTheWay.filter(({ run }) => !one.asked.includes(run))
  if (next.length > 0) {
    const ids = next.map(({ run }) => run)
    const waits = { ...one, asked: [...one.asked, ...ids], open: ids }
    return send(
      { ...others, waiting: [...others.waiting, waits] },
      ...ids.map(
        (piece) => ({ kind: 'back', at: placeOf(piece.replace('next:run_', '')), piece }) as const,
      ),
    )
  }
  const at = placeOf(one.request.run.replace('run_', ''))
  const [rows, reply] = withLedger(world.rows, (ledger) =>
    ledger.reserve(one.request, limits, nowOf(world)),
  )
  const decided = { ...others, rows }
  const amount = reply.ok ? reply.value.tokens : 0
  const isHeld = world.sessions.some(({ held }) => held.free?.day === dayOf(world))
  const isRight = amount === asks[at] || world.lost > 0 || !isHeld
  const judged = isRight ? decided : { ...decided, wrong: 'refused while money is unused' }
  if (one.isOrphan) return judged
  const day = rows.leases[one.request.run]?.day ?? ''
  return send(judged, { kind: 'reserved', at, run: one.request.run, amount, day })
}

function answered(
  world: World,
  piece: string,
  answer: PieceAnswer | undefined,
  variant: Variant,
): World {
  const isGone = !answer && variant.takesUnanswered
  const [rows] = withLedger(world.rows, (ledger) =>
    ledger.checks.back(piece, isGone ? {} : answer, nowOf(world)),
  )
  const noted: World = {
    ...world,
    rows,
    waiting: world.waiting.map((one) => ({ ...one, open: one.open.filter((id) => id !== piece) })),
  }
  const ready = noted.waiting.filter(({ open }) => open.length === 0)
  return ready.reduce((after, one) => decide(after, one, variant), noted)
}

function deliver(before: World, message: Message, variant: Variant): World {
  const world = without(before, message)
  switch (message.kind) {
    case 'reserve': {
      const { request, isOrphan } = message
      return decide(world, { request, isOrphan, asked: [], open: [] }, variant)
    }
    case 'reserved': {
      const { at, run, amount, day } = message
      return change(world, at, { asks: '', live: amount > 0 ? { run, amount, day } : null })
    }
    case 'settle': {
      const { request, isOrphan } = message
      const may = world.waiting.length === 0 || variant.givesMeanwhile ? limits : undefined
      const [rows, piece] = withLedger(world.rows, (ledger) =>
        ledger.settleAndReserve(request, may, nowOf(world)),
      )
      const at = placeOf(request.run.replace('run_', ''))
      const booked = { ...world, rows }
      return isOrphan
        ? booked
        : send(booked, { kind: 'settled', at, request, piece: piece ?? null })
    }
    case 'settled': {
      const { at, request, piece } = message
      const { held, asking } = world.sessions[at]!
      const rest = request.piece === undefined ? held : withoutTaken(held, request.piece)
      const isAsked = request.next !== undefined && asking === request.next.id
      const isTaken = piece && (isAsked || variant.acceptsLate)
      return change(world, at, {
        held: isTaken ? { ...rest, free: piece } : rest,
        ...(isAsked && { asking: '' }),
      })
    }
    case 'back': {
      const { at, piece } = message
      const one = world.sessions[at]!
      const { held, answer } = givePieceBack(one.held, piece, (run) => spendingOf(one, run))
      const asking = one.asking === piece ? '' : one.asking
      return send(change(world, at, { held, asking }), { kind: 'answer', piece, answer })
    }
    case 'answer':
      return answered(world, message.piece, message.answer, variant)
  }
}

/** A message that does not arrive, or whose sender no longer waits for an answer. */
function lose(before: World, message: Message, variant: Variant): World {
  const world = { ...without(before, message), lost: before.lost + 1 }
  switch (message.kind) {
    case 'back':
    case 'answer':
      return answered(world, message.piece, undefined, variant)
    case 'settle': {
      const at = placeOf(message.request.run.replace('run_', ''))
      return send(change(world, at, { asking: '' }), { ...message, isOrphan: true })
    }
    case 'reserve': {
      const at = placeOf(message.request.run.replace('run_', ''))
      return send(change(world, at, { asks: '' }), { ...message, isOrphan: true })
    }
    case 'settled':
      return change(world, message.at, { asking: '' })
    case 'reserved':
      return change(world, message.at, { asks: '' })
  }
}

const isTo = (message: Message, at: number) =>
  (message.kind === 'reserved' || message.kind === 'settled') && message.at === at

/** A session's object ends. Its run has a row and is charged with all of its lease, or it never began. */
function endSession(world: World, at: number, hasRow: boolean): World {
  const { live, over } = world.sessions[at]!
  const orphaned = world.wire
    .filter((message) => !isTo(message, at))
    .map((message) =>
      'isOrphan' in message && message.request.session === nameOf(at)
        ? { ...message, isOrphan: true }
        : message,
    )
  const waiting = world.waiting.map((one) =>
    one.request.session === nameOf(at) ? { ...one, isOrphan: true } : one,
  )
  const spends = live && hasRow
  const spent = spends
    ? { ...world.spent, [live.day]: (world.spent[live.day] ?? 0) + live.amount }
    : world.spent
  return change({ ...world, wire: orphaned, waiting, spent, ends: world.ends + 1 }, at, {
    live: null,
    asks: '',
    asking: '',
    ...(spends && { over: { ...over, [live.run]: live.amount } }),
  })
}

/** The principal's object ends: what waits there fails, and answers to it are lost. */
function endPrincipal(world: World): World {
  const failed = world.waiting.reduce((after, { request, isOrphan }) => {
    return isOrphan ? after : change(after, placeOf(request.run.replace('run_', '')), { asks: '' })
  }, world)
  const wire = failed.wire.filter(({ kind }) => kind !== 'answer')
  return { ...failed, wire, waiting: [], ends: world.ends + 1, lost: world.lost + 1 }
}

/** The sweep looks at a reservation: at a piece that no run took for a while, or at a run's. */
function sweep(world: World, lease: LeaseRow): World {
  const at = placeOf(lease.session)
  if (isPiece(lease)) return send(world, { kind: 'back', at, piece: lease.run })
  const [rows] = withLedger(world.rows, (ledger, tables) => {
    tables.checkLater(lease.run, nowOf(world))
    ledger.checks.finish(lease.run, spendingOf(world.sessions[at]!, lease.run), nowOf(world))
  })
  return { ...world, rows }
}

function* movesOfSessions(world: World, variant: Variant): Iterable<World> {
  for (const [at, { live, asks: waits, runs }] of world.sessions.entries()) {
    if (!live && waits === '' && runs < mostRuns[at]!) yield beginRun(world, at)
    if (live) {
      yield endRun(world, at, live.amount, variant)
      if (at === 0) yield endRun(world, at, 0, variant)
    }
    const isBusy = live !== null || waits !== '' || world.sessions[at]!.asking !== ''
    if (world.ends < 1 && isBusy) {
      yield endSession(world, at, true)
      if (live) yield endSession(world, at, false)
    }
  }
}

function* moves(world: World, variant: Variant): Iterable<World> {
  yield* movesOfSessions(world, variant)
  for (const message of world.wire) {
    yield deliver(world, message, variant)
    if (world.lost < 1) yield lose(world, message, variant)
  }
  if (world.ends < 1 && world.waiting.length > 0) yield endPrincipal(world)
  if (world.day === 0 && Object.keys(world.rows.leases).length > 0) yield { ...world, day: 1 }
  const isCalled = (piece: string) =>
    world.wire.some(
      (message) => 'piece' in message && message.kind !== 'settled' && message.piece === piece,
    )
  for (const lease of Object.values(world.rows.leases))
    if (isPiece(lease) && !isCalled(lease.run)) yield sweep(world, lease)
}

/** The first invariant that a state breaks; empty if it breaks none. */
function wrongWith(world: World): string {
  if (world.wrong) return world.wrong
  for (const day of ['2026-09-21', '2026-09-22']) {
    const believed = world.sessions.reduce((sum, { live, held }) => {
      const free = held.free?.day === day ? held.free.amount.tokens : 0
      return sum + free + (live?.day === day ? live.amount : 0)
    }, world.spent[day] ?? 0)
    if (believed > limit) return `${believed} of the day may be spent`
    const reserved = Object.values(world.rows.leases)
      .filter((lease) => lease.day === day)
      .reduce((sum, { amount }) => sum + amount.tokens, world.rows.days[day]?.tokens ?? 0)
    if (reserved > limit) return `${reserved} of the day are booked`
  }
  return ''
}

/** Everything arrives, ends and is looked after: then no reservation is left, and each day has what was spent. */
function leftAtRest(from: World, variant: Variant): string {
  let world = from
  for (let step = 0; step < 200; step += 1) {
    const [message] = world.wire
    const at = world.sessions.findIndex(({ live }) => live !== null)
    const [lease] = Object.values(world.rows.leases)
    if (message) world = deliver(world, message, variant)
    else if (at >= 0) world = endRun(world, at, world.sessions[at]!.live!.amount, variant)
    else if (lease) world = sweep(world, lease)
    else break
    if (world.wrong) return world.wrong
  }
  if (Object.keys(world.rows.leases).length > 0) return 'a reservation is left'
  const isBooked = Object.entries(world.spent).every(
    ([day, spent]) => (world.rows.days[day]?.tokens ?? 0) === spent,
  )
  return isBooked ? '' : 'a day does not have what was spent'
}

/** A session has run once: its settlement, with the question for a piece, is on its way, or has arrived. */
function afterOneRun(hasPiece: boolean): World {
  let world = beginRun(begin, 0)
  for (const _step of [1, 2]) world = deliver(world, world.wire[0]!, {})
  world = endRun(world, 0, 1, {})
  if (hasPiece) for (const _step of [1, 2]) world = deliver(world, world.wire[0]!, {})
  return world
}

function search(depth: number, from: readonly World[], variant: Variant = {}) {
  const seen = new Set<string>()
  let level = from
  for (let at = 0; at < depth && level.length > 0; at += 1) {
    const next: World[] = []
    for (const world of level) {
      for (const after of moves(world, variant)) {
        const key = JSON.stringify(after)
        if (seen.has(key)) continue
        seen.add(key)
        const wrong = wrongWith(after) || leftAtRest(after, variant)
        if (wrong) return { states: seen.size, wrong }
        next.push(after)
      }
    }
    level = next
  }
  return { states: seen.size, wrong: '' }
}

describe('the pieces of a day', () => {
  it('E1: pass no day and refuse no run while money is unused, in every order of messages, ends and midnight', () => {
    const { states, wrong } = search(isNightly ? 7 : 5, [
      begin,
      afterOneRun(false),
      afterOneRun(true),
    ])
    expect(wrong).toBe('')
    expect(states).toBeGreaterThan(7_000)
  })

  it.each([
    ['a piece is accepted that was called back', false, { acceptsLate: true }],
    ['it is forgotten which piece a run works on', true, { forgetsTaken: true }],
    ['a session without an answer has lost its piece', true, { takesUnanswered: true }],
    ['no piece is called back', true, { neverCalls: true }],
  ] as const)('the search finds what is wrong if %s', (_what, isGiven, variant: Variant) => {
    expect(search(9, [afterOneRun(isGiven)], variant).wrong).not.toBe('')
  })
})
