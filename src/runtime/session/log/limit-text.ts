import type { Amount, LimitOwner, LimitReached, Limits } from '#contracts/lease.ts'
import type { RunRow } from '../storage/stored-rows.ts'

/** The dimensions of spending that have a limit. */
export type Spending = keyof Amount | 'timeMs'

/**
 * The owner of a limit in force; for a session's limit also its amount, and the spending of the session's other
 * runs.
 */
export interface OwnedLimit {
  readonly of: LimitOwner
  readonly session?: { readonly allowed: number; readonly spent: number }
}

/** A limit with the dimension that is booked under it, and its unit for people. */
interface Dimension {
  readonly limit: keyof Limits
  readonly key?: Spending
  readonly unit: string
}

export const dimensions: Readonly<Record<string, Dimension>> = {
  lease_tokens: { limit: 'maxTokens', key: 'tokens', unit: 'tokens' },
  lease_cost: { limit: 'maxCostNanoUsd', key: 'costNanoUsd', unit: 'US dollars' },
  lease_time: { limit: 'maxTimeMs', key: 'timeMs', unit: 'milliseconds' },
  lease_turns: { limit: 'maxTurns', key: 'turns', unit: 'turns' },
  lease_tool_calls: { limit: 'maxToolCalls', key: 'toolCalls', unit: 'tool calls' },
  lease_children: { limit: 'maxChildren', key: 'children', unit: 'sub-agents' },
  lease_platform: {
    limit: 'maxPlatformNanoUsd',
    key: 'platformNanoUsd',
    unit: 'US dollars of the platform',
  },
  lease_depth: { limit: 'maxDepth', unit: 'levels of sub-agents' },
}

const whose: Readonly<Record<LimitOwner, string>> = {
  agent: ' of the agent',
  request: ' of the request',
  session: ' of the session',
  run: ' that was set for the run',
  day: ' of the day',
  caller: ' that its caller gave it',
}

interface Said extends Dimension {
  readonly code: string
  readonly allowed: number
  readonly spent: number
  readonly needed: number
}

/** The text for a person about a limit that was reached. */
export function textOf({ code, unit, ...amounts }: Said, owned: OwnedLimit | undefined): string {
  const { session, of } = owned ?? {}
  if (of === 'day') return textOfDay({ code, unit, ...amounts })
  const say = (amount: number) => shown(code, amount)
  const limit = `The limit of ${say(session?.allowed ?? amounts.allowed)} ${unit}${of ? whose[of] : ''}`
  const used = say(amounts.spent)
  const spent = session
    ? `${say(session.spent)} spent by its other runs, ${used} by this one`
    : `${used} spent`
  const run = session ? ' of its own' : ''
  return `${limit} is reached: ${spent}, the next step needs a limit${run} of at least ${say(amounts.needed)}.`
}

/** The text for a limit of the day: when a new day begins, and who may raise the limit. */
const textOfDay = ({ code, unit, allowed, spent, needed }: Said): string =>
  [
    `The limit of today is used up: ${shown(code, allowed)} ${unit} were left for this run.`,
    `It has spent ${shown(code, spent)}, and needs ${shown(code, needed)} in all for its next step.`,
    'A new day begins at 00:00 UTC. An operator can raise the limit of this run before that.',
  ].join(' ')

const shown = (code: string, amount: number): string =>
  code === 'lease_cost' || code === 'lease_platform'
    ? String(Number((amount / 1e9).toPrecision(6)))
    : String(amount)

/** The reached limit with the amount that was set since: not enough for the next step, or the run would not wait. */
export function reachedNow(
  reached: LimitReached,
  { changed }: Pick<RunRow, 'changed'>,
): LimitReached {
  const dimension = dimensions[reached.code]
  const { limit, spent = 0, needed = 0 } = reached
  const allowed = limit && changed?.limits[limit]
  if (!dimension || allowed === undefined || allowed === reached.allowed) return reached
  const message = textOf(
    { ...dimension, code: reached.code, allowed, spent, needed },
    { of: 'run' },
  )
  return { ...reached, allowed, of: 'run', message }
}
