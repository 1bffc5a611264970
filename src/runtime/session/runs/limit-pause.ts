import type { EventData } from '#contracts/event.ts'
import { heldBy, type CallRecord, type TurnRecord } from '#runtime/kernel/types/journal.ts'
import { callAfter } from '#runtime/kernel/types/lease.ts'
import {
  narrower,
  unlimited,
  type LeaseRefusal,
  type LimitOwner,
  type LimitReached,
  type Limits,
} from '#contracts/lease.ts'
import { onlyLimited } from '../types/platform-usage.ts'
import type { Pause } from '#runtime/kernel/types/pause.ts'
import type { Submission } from '../types/submission.ts'
import { dimensions, textOf, type OwnedLimit, type Spending } from '../log/limit-text.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { RunEnding } from '#runtime/kernel/types/agent-result.ts'

/** The facts for a pause at a limit, or for a suspected loop. */
interface ReachedOptions extends Pick<NeededOptions, 'maxOutputTokens' | 'turnNanoUsd'> {
  readonly limits: Limits
  /** Names the owner of a limit; absent where the pause does not show it. */
  readonly ownerOf?: (limit: keyof Limits, allowed: number) => OwnedLimit
  /** How often its limits had been changed when this segment began. */
  readonly changes: number
  readonly nowMs: number
}

/** The pause of a whole turn; its id has the number of the turn and of the pause within it. */
export function pauseAt(
  ending: RunEnding,
  turns: readonly TurnRecord[],
  { limits, changes, nowMs, ...more }: ReachedOptions,
): Pause & { readonly reached: LimitReached } {
  const { turn, events } = turns.at(-1)!
  const parks = events.filter(({ type }) => type === 'run_parked').length
  return {
    kind: 'budget',
    expires: true,
    reached: reachedOf(ending, turns, { limits, ...more }),
    changes,
    limits: { ...limits },
    call: `limit_${turn}_${parks + 1}`,
    tool: '',
    input: {},
    argsHash: '',
    definitionHash: '',
    sinceMs: nowMs,
  }
}

/** The turn of a pause that `pauseAt` made; 0 for every other call. */
export const turnOfPause = (call: string): number => Number(/^limit_(\d+)_/.exec(call)?.[1] ?? 0)

/** Which limit the run reached, how much of it the run and its calls spent, and how much the next step needs. */
export function reachedOf(
  { code = '', message = '' }: RunEnding,
  turns: readonly TurnRecord[],
  { limits, ownerOf, ...more }: Omit<ReachedOptions, 'changes' | 'nowMs'>,
): LimitReached {
  const dimension = dimensions[code]
  if (!dimension) return { code: 'loop_suspected', message }
  const { limit, key } = dimension
  const allowed = limits[limit] ?? unlimited
  const spent = key ? turns.reduce((sum, { usage }) => sum + (usage[key] ?? 0), 0) : 0
  const calls = key && key !== 'timeMs' ? spentByCalls(turns, key) : []
  const own = spent - calls.reduce((sum, call) => sum + call.spent, 0)
  const needed = neededIn(turns, { ...more, code, key, allowed, spent })
  const owned = ownerOf?.(limit, allowed)
  const of = owned && { of: owned.of }
  const about = { limit, allowed, ...of, spent, needed, own, ...(calls.length > 0 && { calls }) }
  const text = textOf({ ...dimension, code, allowed, spent, needed }, owned)
  return { code: code as LimitReached['code'], ...about, message: text } // by its entry above
}

/** The answers with which a caller refused to raise a limit, or with which the pause expired. */
export const whyRefused = ({ answers = {} }: Pick<RunRow, 'answers'>): string =>
  Object.entries(answers)
    .flatMap(([call, answer]) =>
      call.startsWith('limit_') && answer.kind === 'outcome' && !answer.result.ok
        ? [` ${answer.result.error.message}`]
        : [],
    )
    .join('')

/** The calls that report spending of their own, with its amount. */
const spentByCalls = (turns: readonly TurnRecord[], key: Spending) =>
  turns
    .flatMap(({ calls }) => calls)
    .flatMap(({ id: call, tool, outcome }: CallRecord) => {
      const spent = outcome?.usage?.[key] ?? 0
      return spent > 0 ? [{ call, tool, spent }] : []
    })

/** Tells a caller that could not be asked how to get further; a sub-agent has its limits from its caller. */
export function adviceFor({ lineage, mayRaise }: Submission, reached: LimitReached): string {
  if (lineage) return reached.limit ? ofCaller : ''
  if (mayRaise) return ''
  const more = reached.limit ? orMore[reached.of ?? 'agent'] : ', or raise the agent’s max_repeats'
  return ` No person could be asked here. To be asked, name a session or use /api/sessions${more}.`
}

const ofCaller =
  ' That was its agent’s limit, or an equal share of what its ' +
  'caller had left: called again, alone, it gets what is left then.'

const orMore: Readonly<Record<LimitOwner, string>> = {
  agent: ', or give the agent more',
  request: ', or ask for more',
  session: ', or begin another session',
  run: '',
  day: ', or have an operator raise the limit of the day',
  caller: '',
}

/** The pause in which the last turn of a run waits as a whole, if it does. */
const pauseOf = ({ order }: RunRow, store: SessionStore): Pause | undefined => {
  const last = store.turns(order).at(-1)
  return last?.isDone === false ? last.pause : undefined
}

/** No raise came in time, or a caller refused a raise: that is final. */
const isRefused = ({ answers = {} }: RunRow): boolean =>
  Object.entries(answers).some(([call, { kind }]) => turnOfPause(call) > 0 && kind === 'outcome')

/** Whether a run that reaches a limit waits for a caller to raise it. */
export const mayAsk = (row: RunRow): boolean =>
  row.submission.mayRaise === true && row.submission.lineage === undefined && !isRefused(row)

/**
 * The limits of a run that ends because they were not raised, or are lower by now. The run no longer asks the day's
 * ledger.
 */
export function limitsThatStay(row: RunRow, store: SessionStore, own: Limits): Limits | undefined {
  const pause = isRefused(row) ? pauseOf(row, store) : undefined
  return pause && narrower({ ...own, ...row.changed?.limits }, onlyLimited(pause.limits))
}

interface NeededOptions {
  readonly code: string
  /** The amount booked under that limit; absent for a limit that is not spent. */
  readonly key: Spending | undefined
  readonly spent: number
  readonly allowed: number
  /** The output cap of the agent's model calls, if the agent has its own. */
  readonly maxOutputTokens?: number | undefined
  /** The reservation of platform cost for a turn. */
  readonly turnNanoUsd?: number | undefined
}

type Refused = EventData<'lease_refused'>

/** A model call gets the time to end: a call that is cut off is booked in full. */
const leastMs = 10_000

/**
 * The least limit with which the refused step of a run may begin: the amount spent, the reservations of waiting calls,
 * and the amount that the step asked for. The amount is exact for a model call and for a plain tool's call
 * (`lease_refused` has it), for a turn (one, and its platform reservation) and for a level. It is a guess for time, and
 * for a call that itself spends: such a call got no share, since its caller keeps back one call of its own, and is
 * taken to need one more of the same.
 */
function neededIn(turns: readonly TurnRecord[], options: NeededOptions): number {
  const { code, key, spent, allowed } = options
  const last = turns.at(-1)
  const { calls = [], events = [] } = last ?? {}
  if (!key) return allowed + 1
  if (key === 'timeMs') {
    const longest = Math.max(leastMs, ...turns.map(({ usage }) => usage.timeMs))
    return Math.min(spent + longest, unlimited)
  }
  const from = events.findLastIndex(({ type }) => type === 'run_parked')
  const refused = events
    .slice(from + 1)
    .flatMap((event) =>
      event.type === 'lease_refused' && event.data.code === code ? [event.data] : [],
    )
  // A refused inner call is reported to the code that made it: the run does not wait for it.
  const ofCalls = refused.filter(({ call }) => calls.some(({ id }) => id === call))
  // A turn goes on without a refused summary, so only its last refused request ends it.
  const ofModel = refused.findLast(({ call }) => call === undefined)
  const booked = spent + (heldBy(calls)[key] ?? 0)
  if (ofCalls.length > 0)
    return Math.min(booked + Math.max(askedBy(ofCalls, last!, options), 1), unlimited)
  const { asked = 1, left = 0 } = ofModel ?? {}
  // The amount booked by the ledger at that time, unless it was beyond the limit.
  const taken = left > 0 ? allowed - left : 0
  return Math.min(Math.max(booked, taken) + Math.max(asked, 1), unlimited)
}

/** The sum that the refused calls of a turn ask for; calls without a share count alike, over or not. */
function askedBy(
  refused: readonly Refused[],
  { steps, modelCalls }: TurnRecord,
  { code, maxOutputTokens, turnNanoUsd = 0 }: NeededOptions,
): number {
  const own = refused.reduce((sum, { asked = 0 }) => sum + asked, 0)
  if (refused.every(({ asked }) => asked !== undefined)) return own
  const calls = steps.filter(({ type }) => type === 'tool').length
  const { tokens, costNanoUsd } = callAfter(modelCalls.at(-1), maxOutputTokens)
  const shares: Partial<Record<LeaseRefusal['code'], number>> = {
    lease_tokens: (calls + 1) * Math.max(tokens, 1),
    lease_cost: (calls + 1) * Math.max(costNanoUsd, 1),
    lease_turns: calls + 1,
    // Each call itself, and one call that it makes.
    lease_tool_calls: 2 * calls,
    lease_platform: (calls + 1) * Math.max(turnNanoUsd, 1),
  }
  return Math.max(own, shares[code as LeaseRefusal['code']] ?? 1) // other codes need one more
}
