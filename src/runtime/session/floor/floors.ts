import { toFloorView, type Floor, type FloorEnding } from '#contracts/floor.ts'
import { floorChangeOf } from '../types/holder-result.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import { joinLabels } from '#contracts/label.ts'
import { narrower, type Limits } from '#contracts/lease.ts'
import { labelOf } from '#contracts/message-label.ts'
import { toRunOptions, type RunOptions } from '#contracts/run-options.ts'
import type { SessionRuntime } from '../types/runtime.ts'
import type { Toolset } from '#contracts/tool.ts'
import { runBefore } from '../storage/run-order.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import { addresseeOf, isHeld, leftOf, textOf } from './message-router.ts'
import { floorKey, noteOf } from './note.ts'
import { keepFloor, type RevokeParts } from './revoke.ts'
import { beforeLast, ended, settleFloor } from './settle.ts'

export interface FloorParts extends RevokeParts {
  readonly runtime: Pick<SessionRuntime, 'clock'>
}

type Begun = Pick<RunRow, 'passedOn' | 'handedBack'>

/** Whether a call may take the conversation: somebody comes back to this session, at its end. */
const mayHandOff = (row: RunRow, store: SessionStore): boolean => {
  const { lineage, holds, isStateless, directCall } = row.submission
  const session = store.session()
  // What was ever asked of it without a name is kept for an hour only.
  if (session?.isStateless ?? isStateless ?? directCall) return false
  return (!lineage || holds !== undefined) && !isBeside(row, store)
}

const isBeside = (row: RunRow, store: SessionStore): boolean => {
  const { after, begunBy } = row.submission
  return (
    begunBy !== undefined || (after !== undefined && after.run !== runBefore(store, row.order)?.id)
  )
}

/** Looks for whoever has the conversation among the tools of a run; where nobody can say, it is there. */
export async function lookFor(toolset: Toolset, { store }: Pick<FloorParts, 'store'>) {
  const floor = store.floor()
  if (!isHeld(floor)) return () => true
  const ways = [floor.holder, 'isola__call'].map((toolId) => {
    return { toolId, input: { name: floor.holder, input: {} } }
  })
  const isAway = (await toolset.ready?.(ways)) === 'away'
  // Another one may have it by the time it is asked.
  return (holder: string) =>
    isAway ||
    holder !== floor.holder ||
    ways.some(({ toolId, input }) => toolset.resolve(toolId, input) !== undefined)
}

/** Decides, when a run begins to work, whose its message is. Ends what is over by then. */
export function addressed(
  row: RunRow,
  parts: FloorParts & { readonly isThere: (holder: string) => boolean },
): Begun {
  const { store, runtime, isThere } = parts
  const floor = store.floor()
  if (!floor) return {}
  const { submission } = row
  const { messages } = submission
  const nowMs = runtime.clock.nowMs()
  const arriving = { messages, options: submission, isBeside: isBeside(row, store), isThere }
  const found = addresseeOf(arriving, floor, nowMs)
  if (found.to === 'holder') {
    const { id, holder, terms } = floor
    const { input, memo, monitor } = terms
    const label = joinLabels(messages.filter(({ role }) => role === 'user').map(labelOf))
    return { passedOn: { id, holder, input, monitor, label, ...(memo && { memo }) } }
  }
  const now = found.ends ? ended(floor, { reason: found.ends, atMs: nowMs }) : floor
  if (now !== floor) keepFloor(now, parts)
  const isSilent = (submission.compact ?? submission.directCall ?? submission.isNote) !== undefined
  if (!now.end || now.isNoted || arriving.isBeside || isSilent) return {}
  return { handedBack: { floor: now.id, message: noteOf(now) } }
}

/** A run that only says so tells its agent by that. */
const notedBy = ({ isNote, idempotencyKey }: RunRow['submission']): string | undefined =>
  isNote && idempotencyKey?.startsWith(floorKey({ id: '' }))
    ? idempotencyKey.slice(floorKey({ id: '' }).length)
    : undefined

/** What a run's options are besides those that were asked for. */
export function optionsOf(row: RunRow, store: SessionStore): RunOptions {
  const asked = toRunOptions(row.submission)
  const { passedOn } = row
  if (!passedOn)
    return mayHandOff(row, store) && !isHeld(store.floor()) ? { ...asked, mayHandOff: true } : asked
  const { holder: tool, input: name, ...floor } = passedOn
  const input = { [name]: textOf(row.submission.messages) }
  return { ...asked, directCall: { tool, input, floor } }
}

/** What a message that is passed on may take: no more than is left of the floor's lease. */
export function withinFloor(limits: Limits, { passedOn }: RunRow, store: SessionStore): Limits {
  const floor = passedOn && store.floor()
  return floor ? narrower(limits, leftOf(floor)) : limits
}

interface Settled {
  readonly turn: TurnRecord
  /** Writes the floor with whatever writes the turn: both, or neither. */
  readonly write: (work: () => void) => void
}

/** The calls of a turn by which somebody took the conversation, or gave it back. */
export const floorCallsIn = ({ calls }: Pick<TurnRecord, 'calls'>): TurnRecord['calls'] =>
  calls.filter(({ outcome }) => floorChangeOf(outcome))

/** Those of a run, of each turn as it was written last. */
export function createFloorCalls() {
  const kept = new Map<number, TurnRecord['calls']>()
  return {
    note: (turn: TurnRecord) => void kept.set(turn.turn, floorCallsIn(turn)),
    before: ({ turn }: TurnRecord) => [...kept].flatMap(([of, calls]) => (of < turn ? calls : [])),
  }
}

/** The last turn of a run with what its end makes of the floor. */
export function withFloor(
  row: RunRow,
  turn: TurnRecord,
  parts: FloorParts & { readonly nextSeq: () => number },
  earlier: TurnRecord['calls'],
): Settled {
  const { store, runtime, nextSeq } = parts
  const { final } = turn
  const asItIs: Settled = { turn, write: (work) => work() }
  if (!final) return asItIs
  const settled = settleFloor(store.floor(), {
    run: row.id,
    floor: row.passedOn?.id,
    noted: row.handedBack?.floor ?? notedBy(row.submission),
    mayHandOff: !row.passedOn && mayHandOff(row, store),
    earlier,
    turn,
    final,
    nowMs: runtime.clock.nowMs(),
  })
  if (!settled) return asItIs
  return {
    turn: { ...turn, events: beforeLast(turn.events, settled.events, nextSeq) },
    write: (work) =>
      store.together(() => {
        work()
        keepFloor(settled.floor, parts)
      }),
  }
}

type ReclaimParts = FloorParts & {
  readonly runs: { readonly cancel: (row: RunRow, reason: string) => unknown }
}

export const isPassedOn = (floor: Floor) => (row: RunRow) => row.passedOn?.id === floor.id

/** Ends it, and with it what is passed on in it at this moment. @returns Nothing if nobody had the conversation. */
export function reclaimFloor(
  end: { readonly reason: FloorEnding; readonly by?: string | undefined },
  parts: ReclaimParts,
): Floor | undefined {
  const floor = endFloor(end, parts)
  if (!floor) return undefined
  for (const row of parts.store.unfinishedRuns().filter(isPassedOn(floor)))
    parts.runs.cancel(row, `The conversation was taken back from ${floor.holder}.`)
  return floor
}

/** @returns The floor that ended; nothing if nobody had the conversation. */
function endFloor(
  end: { readonly reason: FloorEnding; readonly by?: string | undefined },
  parts: FloorParts,
): Floor | undefined {
  const { store, runtime } = parts
  const floor = store.floor()
  if (!isHeld(floor)) return undefined
  const { reason, by } = end
  const over = ended(floor, { reason, atMs: runtime.clock.nowMs(), ...(by && { by }) })
  keepFloor(over, parts)
  return over
}

export const floorViewOf = (store: Pick<SessionStore, 'floor'>) => {
  const floor = store.floor()
  return floor && { floor: toFloorView(floor) }
}
