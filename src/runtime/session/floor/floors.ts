import { defined } from '#contracts/defined.ts'
import { toFloorView, type Floor, type FloorEnding, floorChangeOf } from '../types/floor.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import { joinLabels } from '#contracts/label.ts'
import { narrower, type Limits } from '#contracts/lease.ts'
import { labelOf } from '#contracts/message.ts'
import { toRunOptions } from '../types/submission.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { SessionRuntime } from '../types/runtime.ts'
import type { Toolset } from '#contracts/tool.ts'
import { runBefore, type SessionStore, everyRun } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import { addresseeOf, isHeld, leftOf, textOf, floorKey, noteOf } from './message-router.ts'
import { beforeLast, ended, settleFloor } from './settle.ts'
import type { Children } from '../storage/children.ts'
import type { Errand, Todo } from '../storage/todo.ts'

interface RevokeParts {
  readonly store: SessionStore
  readonly todo: Todo
  readonly children: Children
}

const reason = 'The conversation that it worked in is over.'

/**
 * Writes the state of a handoff. Its end also adds an outbox entry that cancels the call which began the handoff: its
 * session ends too, down the tree (E8). The entry is sent until it is acknowledged, so a crash leaves nothing behind.
 */
function keepFloor(floor: Floor, { store, todo, children }: RevokeParts): void {
  const before = store.floor()
  const isOver = floor.end && isHeld(before) && before.id === floor.id
  const run = isOver ? store.findRun(floor.id) : undefined
  const below = run && children.ofRun(run.order).find(({ call }) => call === floor.call)
  store.together(() => {
    store.writeFloor(floor)
    if (below) todo.add(cancelOf(below, floor.id))
  })
}

/** Cancels the background children of a session, after which no run reads their outcomes. */
export function cancelBackground({ store, todo, children }: RevokeParts): void {
  for (const { order, id, inbox = [] } of everyRun(store))
    for (const child of children.ofRun(order))
      if (child.isBackground && !inbox.some(({ call }) => call === child.call))
        todo.add(cancelOf(child, id))
}

const cancelOf = (
  { session, call }: { readonly session: string; readonly call: string },
  run: string,
): Errand => ({ kind: 'cancel', session, run, call, reason })

interface FloorParts extends RevokeParts {
  readonly runtime: Pick<SessionRuntime, 'clock'>
}

type Begun = Pick<RunRow, 'passedOn' | 'handedBack'>

/** Whether a call may hand the conversation off: only where the caller comes back to the end of this session. */
const mayHandOff = (row: RunRow, store: SessionStore): boolean => {
  const { lineage, holds, isStateless, directCall } = row.submission
  const session = store.session()
  // A session without a name is kept for an hour only.
  if (session?.isStateless ?? isStateless ?? directCall) return false
  return (!lineage || holds !== undefined) && !isBeside(row, store)
}

const isBeside = (row: RunRow, store: SessionStore): boolean => {
  const { after, begunBy } = row.submission
  return (
    begunBy !== undefined || (after !== undefined && after.run !== runBefore(store, row.order)?.id)
  )
}

/**
 * Looks for the agent that has the conversation among the tools of a run; while its plugin is away, it counts as
 * found.
 */
export async function lookFor(toolset: Toolset, { store }: FloorParts) {
  const floor = store.floor()
  if (!isHeld(floor)) return () => true
  const ways = [floor.holder, 'isola__call'].map((toolId) => {
    return { toolId, input: { name: floor.holder, input: {} } }
  })
  const isAway = (await toolset.ready?.(ways)) === 'away'
  // Another agent may have the conversation by the time of the call.
  return (holder: string) =>
    isAway ||
    holder !== floor.holder ||
    ways.some(({ toolId, input }) => toolset.resolve(toolId, input) !== undefined)
}

/** Decides, when a run begins to work, which agent gets its message. Ends a handoff that is over by then. */
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
    return { passedOn: { id, holder, input, monitor, label, ...defined({ memo }) } }
  }
  const now = found.ends ? ended(floor, { reason: found.ends, atMs: nowMs }) : floor
  if (now !== floor) keepFloor(now, parts)
  const isSilent = (submission.compact ?? submission.directCall ?? submission.isNote) !== undefined
  if (!now.end || now.isNoted || arriving.isBeside || isSilent) return {}
  return { handedBack: { floor: now.id, message: noteOf(now) } }
}

/** The handoff whose end this run notes, for a run with no other purpose. */
const notedBy = ({ isNote, idempotencyKey }: RunRow['submission']): string | undefined =>
  isNote && idempotencyKey?.startsWith(floorKey({ id: '' }))
    ? idempotencyKey.slice(floorKey({ id: '' }).length)
    : undefined

/** The options of a run: the options of its submission, and options that a handoff adds. */
export function optionsOf(row: RunRow, store: SessionStore): RunOptions {
  const asked = toRunOptions(row.submission)
  const { passedOn } = row
  if (!passedOn)
    return mayHandOff(row, store) && !isHeld(store.floor()) ? { ...asked, mayHandOff: true } : asked
  const { holder: tool, input: name, ...floor } = passedOn
  const input = { [name]: textOf(row.submission.messages) }
  return { ...asked, directCall: { tool, input, floor } }
}

/** The limits of a message that is passed on: no more than the rest of the handoff's lease. */
export function withinFloor(limits: Limits, { passedOn }: RunRow, store: SessionStore): Limits {
  const floor = passedOn && store.floor()
  return floor ? narrower(limits, leftOf(floor)) : limits
}

interface Settled {
  readonly turn: TurnRecord
  /** Writes the handoff in one transaction with the turn that `work` writes. */
  readonly write: (work: () => void) => void
}

/** The calls of a turn that took the conversation, or gave it back. */
export const floorCallsIn = ({ calls }: TurnRecord): TurnRecord['calls'] =>
  calls.filter(({ outcome }) => floorChangeOf(outcome))

/** Collects these calls of a run, for each turn from its last write. */
export function createFloorCalls() {
  const kept = new Map<number, TurnRecord['calls']>()
  return {
    note: (turn: TurnRecord) => void kept.set(turn.turn, floorCallsIn(turn)),
    before: ({ turn }: TurnRecord) => [...kept].flatMap(([of, calls]) => (of < turn ? calls : [])),
  }
}

/** The last turn of a run, with the change that its end makes to the handoff. */
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

/**
 * Ends the handoff, and cancels runs that pass a message on in it. @returns `undefined` if no agent had the
 * conversation.
 */
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

/** @returns The handoff that ended; `undefined` if no agent had the conversation. */
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

export const floorViewOf = (store: SessionStore) => {
  const floor = store.floor()
  return floor && { floor: toFloorView(floor) }
}
