import type { Ending } from '#runtime/kernel/types/agent-result.ts'
import type { CallRecord, TurnRecord } from '#runtime/kernel/types/journal.ts'
import { unlimited, type LimitOwner, type LimitReached, type Limits } from '#contracts/lease.ts'
import type { Pause } from '#runtime/kernel/types/pause.ts'
import type { Submission } from '../types/submission.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import { dimensions, textOf, type OwnedLimit, type Spending } from '../log/limit-text.ts'
import { neededIn, type NeededOptions } from './needed-limit.ts'

/** What a run that reached a limit, or seems to go round in circles, waits for until somebody answers. */
export interface ReachedOptions extends Pick<NeededOptions, 'maxOutputTokens' | 'turnNanoUsd'> {
  readonly limits: Limits
  /** Absent: it is not said. */
  readonly ownerOf?: (limit: keyof Limits, allowed: number) => OwnedLimit
  /** How often its limits had been changed when this segment began. */
  readonly changes: number
  readonly nowMs: number
}

/** The pause of a turn as a whole; its id names the turn, and which of its pauses it is. */
export function pauseAt(
  ending: Ending,
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

/** Of a pause that `pauseAt` made the turn that waits; 0 for every other call. */
export const turnOfPause = (call: string): number => Number(/^limit_(\d+)_/.exec(call)?.[1] ?? 0)

/** Which limit was reached, what was spent of it by whom in the tree, and what the next step needs. */
export function reachedOf(
  { code = '', message = '' }: Ending,
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

/** What was said when somebody left a limit as it was, or nobody raised it in time. */
export const whyRefused = ({ answers = {} }: Pick<RunRow, 'answers'>): string =>
  Object.entries(answers)
    .flatMap(([call, answer]) =>
      call.startsWith('limit_') && answer.kind === 'outcome' && !answer.result.ok
        ? [` ${answer.result.error.message}`]
        : [],
    )
    .join('')

/** The calls that themselves spent, with what each took. */
const spentByCalls = (turns: readonly TurnRecord[], key: Spending) =>
  turns
    .flatMap(({ calls }) => calls)
    .flatMap(({ id: call, tool, outcome }: CallRecord) => {
      const spent = outcome?.usage?.[key] ?? 0
      return spent > 0 ? [{ call, tool, spent }] : []
    })

/** How somebody who was not there to be asked gets further; a sub-agent's limits are its caller's to give. */
export function adviceFor({ lineage, mayRaise }: Submission, reached: LimitReached): string {
  if (lineage) return reached.limit ? ofCaller : ''
  if (mayRaise) return ''
  const more = reached.limit ? orMore[reached.of ?? 'agent'] : ', or raise the agent’s max_repeats'
  return ` No person could be asked here. To be asked, name a session or use /api/sessions${more}.`
}

const ofCaller =
  ' That was its agent’s limit, or an equal share of what its caller had left: called again, alone, it gets what is left then.'

const orMore: Readonly<Record<LimitOwner, string>> = {
  agent: ', or give the agent more',
  request: ', or ask for more',
  session: ', or begin another session',
  run: '',
  day: ', or have an operator raise the limit of the day',
  caller: '',
}

/** At this part of a limit whoever follows the run is told. */
const soft = 0.8

/** The limits of which four fifths are spent, and of which nothing was said yet. */
export function warningsIn(turns: readonly TurnRecord[], limits: Limits) {
  const said = new Set(
    turns
      .flatMap(({ events }) => events)
      .flatMap((event) =>
        event.type === 'budget_warning' ? [`${event.data.limit} ${event.data.allowed}`] : [],
      ),
  )
  return Object.values(dimensions).flatMap(({ limit, key }) => {
    const allowed = limits[limit] ?? unlimited
    if (!key || allowed >= unlimited || allowed === 0 || said.has(`${limit} ${allowed}`)) return []
    const spent = turns.reduce((sum, { usage }) => sum + (usage[key] ?? 0), 0)
    return spent >= allowed * soft
      ? [{ type: 'budget_warning' as const, data: { limit, allowed, spent } }]
      : []
  })
}
