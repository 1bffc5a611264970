import type { CallRecord, Place } from './record.ts'

/** A part of a call: the way there, the way back, or the whole of a call whose other end records nothing. */
interface Leg {
  readonly call: CallRecord
  readonly from: Place
  readonly to: Place
  readonly startMs: number
  readonly endMs: number
  /** Positions among the starts and ends of `from` and `to`, where that place wrote them down. */
  readonly startOrder: number | undefined
  readonly endOrder: number | undefined
  /** Round trips: a half, or 1. */
  readonly trips: number
  readonly isBack: boolean
}

interface Moment {
  readonly place: Place
  readonly ms: number
  readonly order: number | undefined
  /** The call whose work this is, if the path came here by its way back. */
  readonly within: CallRecord | undefined
}

export interface Step {
  readonly call: CallRecord
  readonly isFar: boolean
}

export interface SerialPath {
  /** Far round trips, one after the other. */
  readonly far: number
  /** Milliseconds that the distances on this path take, near bindings included. */
  readonly distanceMs: number
  /** Calls in the order in which they were made; a call inside another one's work follows it. */
  readonly steps: readonly Step[]
}

/**
 * The calls that stand in series before a moment, as a critical path that is followed backwards from it.
 *
 * A call of an object counts as two legs of half a round trip, the way there and the way back, and every other call as
 * one leg. From a moment in a place, the path goes to the leg that ended last in this place before the moment, then on
 * from where and when that leg began; so of calls that were made beside each other only the last to end counts. Within
 * the work of a call (after its way back, before its way there) only legs of that work count. A leg that ended before
 * the moment without being awaited may be taken for its cause. It then began at most a round trip before the true
 * cause ended, so the count is still right as long as the isolates' own work on the path takes less than one far round
 * trip; `ownMs` in cells.ts says how much it took.
 */
export function pathTo(
  calls: readonly CallRecord[],
  end: { readonly place: Place; readonly ms: number; readonly order?: number | undefined },
  farMs: number,
): SerialPath {
  const legs = calls.flatMap(legsOf)
  const taken: Leg[] = []
  const outer: (CallRecord | undefined)[] = []
  let at: Moment = { ...end, order: end.order, within: undefined }
  for (;;) {
    const { within } = at
    const leg = latest(legs, at, taken) ?? legs.find((one) => one.call === within && !one.isBack)
    if (!leg || taken.includes(leg)) break
    taken.push(leg)
    if (leg.isBack) outer.push(within)
    const isEntry = within !== undefined && leg.call === within
    at = {
      place: leg.from,
      ms: leg.startMs,
      order: leg.startOrder,
      within: leg.isBack ? leg.call : isEntry ? outer.pop() : within,
    }
  }
  const inOrder = taken.toReversed()
  const isFar = ({ distanceMs }: CallRecord) => distanceMs >= farMs && farMs > 0
  const calledOnce = [...new Map(inOrder.map(({ call }) => [call, call])).values()]
  const sum = (value: (leg: Leg) => number) => taken.reduce((all, leg) => all + value(leg), 0)
  return {
    far: sum((leg) => (isFar(leg.call) ? leg.trips : 0)),
    distanceMs: sum((leg) => leg.trips * leg.call.distanceMs),
    steps: calledOnce.map((call) => ({ call, isFar: isFar(call) })),
  }
}

function legsOf(call: CallRecord): Leg[] {
  const { place, to, startMs, startOrder, thereMs, backMs, endMs, endOrder } = call
  if (to === undefined) {
    if (endMs === undefined) return []
    const whole = { call, from: place, to: place, startMs, endMs, startOrder, endOrder }
    return [{ ...whole, trips: 1, isBack: false }]
  }
  const half = { call, trips: 0.5 }
  const there = { from: place, to, startMs, startOrder, endOrder: undefined, isBack: false }
  const back = { from: to, to: place, startOrder: undefined, isBack: true }
  return [
    ...(thereMs === undefined ? [] : [{ ...half, ...there, endMs: thereMs }]),
    ...(backMs === undefined || endMs === undefined
      ? []
      : [{ ...half, ...back, startMs: backMs, endMs, endOrder }]),
  ]
}

/** The leg that ended last in this place before the moment. */
function latest(legs: readonly Leg[], at: Moment, taken: readonly Leg[]): Leg | undefined {
  let found: Leg | undefined
  for (const leg of legs) {
    if (leg.to !== at.place || taken.includes(leg) || !endedBefore(leg, at)) continue
    if (at.within) {
      // Of the work of this call: not another call's arrival, and nothing that began before this one arrived.
      const isArrival = leg.to !== leg.from && !leg.isBack
      if (isArrival ? leg.call !== at.within : beganBefore(leg, at.within)) continue
    }
    if (!found || isLater(leg, found)) found = leg
  }
  return found
}

const endedBefore = (leg: Leg, { ms, order }: Moment): boolean =>
  leg.endOrder !== undefined && order !== undefined ? leg.endOrder < order : leg.endMs <= ms

const beganBefore = ({ call }: Leg, { thereMs = 0 }: CallRecord): boolean => call.startMs < thereMs

const isLater = (one: Leg, other: Leg): boolean =>
  one.endOrder !== undefined && other.endOrder !== undefined
    ? one.endOrder > other.endOrder
    : one.endMs === other.endMs
      ? one.startMs > other.startMs
      : one.endMs > other.endMs
