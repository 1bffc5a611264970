import { defined } from '#contracts/defined.ts'
import type { Limits } from '#contracts/lease.ts'
import type { DaySpent, Schedule, Slot, SlotState } from '#runtime/session/types/schedule.ts'
import { nextSlot } from './slots.ts'

/** A slot without a firing so long after it was due is late: `catchUp` decides about it. */
export const graceMs = 60_000
/** The most slots that one pass settles; the next pass follows at once. */
export const maxSettled = 200
/** So many firings of a schedule may wait for an earlier one. */
export const maxQueued = 100

/** The state that a due slot gets. */
export interface Verdict {
  readonly slotMs: number
  readonly state: Extract<SlotState, 'queued' | 'missed' | 'skipped'>
  readonly reason?: string
}

/** The outcome of settling: the settled slots, and the next slot. */
export interface Settled {
  readonly verdicts: readonly Verdict[]
  readonly nextMs: number | undefined
  /** The next one is due, and waits for a firing to end. */
  readonly isBlocked?: true
}

/** The state of a schedule's firings. */
export interface UnderWay {
  /** Queued, checking or running. */
  readonly open: number
}

/**
 * Settles every slot that is due: each gets exactly one verdict, in order, and the next one follows from the last of
 * them, never from now. Pure: nothing is moved by asking.
 *
 * @param jitter How much later than its slot a firing comes.
 */
export function settleDue(
  { spec, nextMs, paused }: Pick<Schedule, 'spec' | 'nextMs' | 'paused'>,
  nowMs: number,
  underWay: UnderWay,
  jitter: (slotMs: number) => number,
): Settled {
  const due: number[] = []
  let next = nextMs
  const isDue = (slotMs: number) => slotMs + jitter(slotMs) <= nowMs
  while (next !== undefined && isDue(next) && due.length < maxSettled) {
    due.push(next)
    next = nextSlot(spec.when, next)
  }
  /** While more slots are due than one pass settles, none of these is the newest. */
  const newest = next !== undefined && isDue(next) ? undefined : due.at(-1)
  const verdicts: Verdict[] = []
  let { open } = underWay
  for (const slotMs of due) {
    const lateMs = nowMs - slotMs - jitter(slotMs)
    const isBehind = lateMs > graceMs || verdicts.some(({ state }) => state === 'queued')
    const isNewest = slotMs === newest
    const verdict = verdictOn(spec, { slotMs, lateMs, open, isNewest, isBehind, paused })
    // It stays where it is until one of those that wait has ended: nothing is dropped for want of room.
    if (verdict === 'wait') return { verdicts, nextMs: slotMs, isBlocked: true }
    if (verdict.state === 'queued') open += 1
    verdicts.push(verdict)
  }
  return { verdicts, nextMs: next }
}

function verdictOn(
  spec: Schedule['spec'],
  at: {
    readonly slotMs: number
    readonly lateMs: number
    readonly open: number
    readonly isNewest: boolean
    /** It is late, or comes after one that is. */
    readonly isBehind: boolean
    readonly paused: Schedule['paused']
  },
): Verdict | 'wait' {
  const { slotMs, lateMs, open } = at
  if (at.paused) return { slotMs, state: 'skipped', reason: 'paused' }
  const missed = whyMissed(spec, lateMs, at.isNewest)
  if (missed !== undefined) return { slotMs, state: 'missed', reason: missed }
  // Each that is caught up waits for the one before: that is what `all` asks for.
  const mayQueue = spec.overlap === 'queue' || (at.isBehind && spec.catchUp === 'all')
  if (open > 0 && !mayQueue)
    return { slotMs, state: 'skipped', reason: 'an earlier firing still works' }
  return open >= maxQueued ? 'wait' : { slotMs, state: 'queued' }
}

const minutes = (ms: number): string => `${Math.floor(ms / 60_000)} min`

function whyMissed(
  { catchUp, notAfterMs }: Schedule['spec'],
  lateMs: number,
  isNewest: boolean,
): string | undefined {
  if (lateMs <= graceMs) return undefined
  const late = `nobody fired it in time (${minutes(lateMs)} late)`
  if (notAfterMs !== undefined && lateMs > notAfterMs)
    return `${late}; not after ${minutes(notAfterMs)}`
  if (catchUp === 'skip') return `${late}; catch-up is skip`
  if (catchUp === 'once' && !isNewest) return `${late}; a later one stands for it`
  return undefined
}

/** The day of a moment, UTC. */
const dayOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10)

/** The amounts of the current day: zero once the stored day is over. */
export function today({ day }: Pick<Schedule, 'day'>, nowMs: number): DaySpent {
  const now = dayOf(nowMs)
  return day.day === now ? day : { day: now, runs: 0, tokens: 0, costNanoUsd: 0 }
}

/** Why no further firing begins on this day; otherwise what it may spend of it. */
export function leaveOfDay(
  schedule: Pick<Schedule, 'spec' | 'day'>,
  nowMs: number,
): { readonly why: string } | { readonly limits: Partial<Limits> | undefined } {
  const { daily, limits = {} } = schedule.spec
  const spent = today(schedule, nowMs)
  if (spent.runs >= daily.runs) return { why: `its day has had ${daily.runs} firings` }
  const left = [
    ['maxTokens', daily.tokens, spent.tokens],
    ['maxCostNanoUsd', daily.costNanoUsd, spent.costNanoUsd],
  ] as const
  const capped = left.flatMap(([name, most, had]) =>
    most === undefined ? [] : [[name, Math.min(limits[name] ?? Infinity, most - had)] as const],
  )
  if (capped.some(([, may]) => may <= 0)) return { why: 'what its day may spend is spent' }
  const all = { ...limits, ...Object.fromEntries(capped) }
  return { limits: Object.keys(all).length > 0 ? all : undefined }
}

/** The schedule after a firing that ended: a failure counts up, a success resets the count. */
export function afterSlot(
  schedule: Schedule,
  slot: Pick<Slot, 'state' | 'reason' | 'tokens' | 'costNanoUsd'>,
  nowMs: number,
): Pick<Schedule, 'failures' | 'day' | 'paused'> {
  const spent = today(schedule, nowMs)
  const day = {
    ...spent,
    tokens: spent.tokens + slot.tokens,
    costNanoUsd: spent.costNanoUsd + slot.costNanoUsd,
  }
  const failures = slot.state === 'failed' ? schedule.failures + 1 : 0
  const { stopAfterFailures } = schedule.spec
  if (failures < stopAfterFailures || schedule.paused)
    return { failures, day, ...defined({ paused: schedule.paused }) }
  const times = failures === 1 ? 'once' : `${failures} times in a row`
  const reason = `it failed ${times}, the last time: ${slot.reason ?? 'no reason was given'}`
  return { failures, day, paused: { atMs: nowMs, reason, by: 'isola' } }
}
