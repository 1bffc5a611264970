import { recordRows, type SessionCard } from '../types/audit-sink.ts'
import type { SessionEvent } from '#contracts/event.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import { addUsage, zeroUsage, type Usage, plusPlatform } from '#contracts/lease.ts'
import {
  minusPlatform,
  platformUsage,
  cpuEstimate,
  platformCostNanoUsd,
} from '../types/platform-usage.ts'
import type { PlatformAmounts } from '#contracts/platform.ts'
import { kindOf } from '../log/views.ts'
import type { Meter } from '../storage/meter.ts'
import type { RunParts } from './live-runs.ts'

interface RunBillOptions {
  readonly meter: Meter
  /** The run's turns as they are stored. */
  readonly turns: readonly TurnRecord[]
  readonly kind: () => SessionCard['kind']
  /** Whether the list of sessions has this session already. */
  readonly isListed: () => boolean
}

/**
 * Books the object's platform use into the rows of the run that works in it: these rows are written anyway. The last
 * row of a segment is booked with itself and with an estimate of what follows it: the rows of the audit record, and
 * the alarm. The object counts the real use, and the next row takes the difference, so that nothing counts twice.
 */
export type RunBill = ReturnType<typeof createRunBill>

/** @param turns The run's turns as they are stored. */
export const openBill = (
  turns: readonly TurnRecord[],
  { meter, store, outbox }: RunParts,
): RunBill =>
  createRunBill({
    meter,
    turns,
    kind: () => kindOf(store.session()),
    isListed: outbox.isListed,
  })

export function createRunBill({ meter, turns, kind, isListed }: RunBillOptions) {
  /** The amounts of each turn; below, the amounts that the kernel has not read. */
  const own = new Map(turns.map((one) => [one.turn, one.platform ?? {}]))
  const added = new Map<number, PlatformAmounts>()
  let told = turns.flatMap(({ events }) => events).reduce(plusTold, {})
  let last: PlatformAmounts = {}
  /** For each turn, the number of calls that the CPU estimate already counts. */
  const estimated = new Map(turns.map(({ turn, calls }) => [turn, calls.length]))
  const cpuOf = ({ turn, calls }: TurnRecord, { requests = 0 }: PlatformAmounts) => {
    const before = estimated.get(turn)
    const newTurns = before === undefined ? 1 : 0
    return cpuEstimate({ requests, turns: newTurns, calls: calls.length - (before ?? 0) })
  }

  const closing = () => closingOf(recordRows(kind(), isListed()))
  const spent = () => platformCostNanoUsd([...own.values()].reduce(plusPlatform, {}))
  /** The part of it that the lease of the run has. */
  let leased = spent()
  /** How often work on each planned turn began. A turn that was parked before its plan does not count. */
  const segments = new Map<number, number>()
  const note = ({ turn, steps, events }: TurnRecord) => {
    const parks = events.filter(({ type }) => type === 'run_parked').length
    if (steps.length > 0) segments.set(turn, parks + 1)
  }
  turns.forEach(note)
  // The cost of the dearest turn so far, since the turns of a run are alike.
  const turnNanoUsd = () =>
    Math.max(
      platformCostNanoUsd(plusPlatform(usualTurn, closing())),
      ...[...segments].map(([turn, count]) =>
        Math.ceil(platformCostNanoUsd(own.get(turn) ?? {}) / count),
      ),
    )
  /** The amounts to add to a turn. */
  const moreOf = (turn: TurnRecord, counted: PlatformAmounts, ending: PlatformAmounts) => {
    const before = own.get(turn.turn)
    return [
      counted,
      ending,
      { activeMs: turn.usage.timeMs - (before?.activeMs ?? 0) },
      isolatesIn(turn, before),
      cpuOf(turn, counted),
    ].reduce(plusPlatform)
  }

  return {
    turnNanoUsd,
    beyond: () => {
      const more = spent() - leased
      leased = spent() + turnNanoUsd()
      return more
    },
    /** The kernel's turns with their billed amounts. */
    billed: (told: readonly TurnRecord[]) =>
      told.map((turn) => ({ ...turn, usage: withPlatform(turn.usage, added.get(turn.turn)) })),
    /** The same, where the last turn also has the amounts that a pause of its run would book now. */
    ifParked: (told: readonly TurnRecord[]) => {
      const counted = meter.take()
      meter.count(counted)
      return told.map((turn, index) => {
        const isLast = index === told.length - 1
        const park = isLast ? plusPlatform(moreOf(turn, counted, closing()), aMoment) : {}
        const usage = withPlatform(turn.usage, plusPlatform(added.get(turn.turn), park))
        return { ...turn, usage }
      })
    },
    /** The turn as it is to be stored. Call it once for each write. */
    into: (turn: TurnRecord) => {
      const end = turn.events.at(-1)
      const isLast = turn.final !== undefined || end?.type === 'run_parked'
      const ending = isLast ? closing() : {}
      const counted = meter.take()
      last = plusPlatform(counted, ending)
      if (isLast) {
        meter.count(minusPlatform({}, ending))
        meter.owe()
      }
      const more = moreOf(turn, counted, ending)
      estimated.set(turn.turn, turn.calls.length)
      note(turn)
      own.set(turn.turn, plusPlatform(own.get(turn.turn), more))
      added.set(turn.turn, plusPlatform(added.get(turn.turn), more))
      const platform = own.get(turn.turn) ?? {}
      const total = [...own.values()].reduce(plusPlatform, {})
      const news = minusPlatform(total, told)
      if (isLast) told = total
      return {
        ...turn,
        platform,
        usage: withPlatform(turn.usage, added.get(turn.turn)),
        events: isLast
          ? turn.events.map((event) => (event === end ? tell(event, news) : event))
          : turn.events,
        ...(turn.final && {
          final: {
            ...turn.final,
            // Turn by turn: prices are rounded, and the total has to be the sum of the rows.
            usage: [...added.values()].reduce(withPlatform, turn.final.usage),
          },
        }),
      }
    },
    /** The turn could not be stored: its amounts are counted again. */
    undo: () => meter.count(last),
  }
}

/** Typical amounts: a turn with some calls that works for five seconds. */
const usualTurn: PlatformAmounts = {
  rowsRead: 50,
  rowsWritten: 2,
  alarms: 1,
  requests: 1,
  activeMs: 5_000,
  cpuMs: 10,
}

/** The time until the estimate is written. */
const aMoment: PlatformAmounts = { activeMs: 100 }

/** The row under way, the alarm for the next timer, and the rows of the audit record. */
const closingOf = (d1RowsWritten: number): PlatformAmounts => ({
  rowsWritten: 1,
  alarms: 1,
  d1RowsWritten,
})

const withPlatform = (usage: Usage, platform: PlatformAmounts = {}): Usage =>
  addUsage(usage, { ...zeroUsage, ...platformUsage(platform) })

function isolatesIn({ events }: TurnRecord, before: PlatformAmounts = {}): PlatformAmounts {
  const started = events.filter(({ type }) => type === 'isolate_started').length
  return { isolates: started - (before.isolates ?? 0) }
}

function plusTold(sum: PlatformAmounts, { type, data }: SessionEvent): PlatformAmounts {
  return type === 'run_parked' || type === 'run_finished'
    ? plusPlatform(sum, (data as { platform?: PlatformAmounts }).platform)
    : sum
}

const tell = (event: SessionEvent, platform: PlatformAmounts): SessionEvent =>
  event.type === 'run_parked' || event.type === 'run_finished'
    ? ({ ...event, data: { ...event.data, platform } } as SessionEvent)
    : event
