import type { RunOptions } from '#contracts/run-options.ts'

/** The rules of one option: in comparing requests, and in beginning runs below. */
interface RunOptionRule<Value> {
  /** Part of the body that an idempotency key stands for: a retry with another value is a different request. */
  readonly isHashed: boolean
  /** The value for a run that a tool begins below; `undefined` passes nothing on. */
  readonly inherit: (value: Value | undefined) => Value | undefined
}

const nothing = () => undefined

const whole = <Value>(value: Value): Value => value

const own = { isHashed: true, inherit: nothing } as const

/** Every option has a line: a new one does not compile without. */
export const runOptionFields: {
  readonly [Name in keyof Required<RunOptions>]: RunOptionRule<RunOptions[Name]>
} = {
  model: own,
  parameters: own,
  clientInstructions: own,
  // The persona speaks to the user. A child is read by its caller, so it has none.
  persona: own,
  limits: own,
  // How long a surface can wait is no part of the task. A child has no client with tools.
  pauses: { isHashed: false, inherit: (pauses) => (pauses === 'park' ? 'park' : 'refuse') },
  // A child's limits come from its parent, so only the parent can ask for more.
  mayRaise: { isHashed: false, inherit: nothing },
  requireApproval: { isHashed: true, inherit: whole },
  clientTools: own,
  // It does not change the answer.
  bringsAll: { isHashed: false, inherit: nothing },
  mayAsk: own,
  directCall: own,
  compact: own,
  isNote: own,
  // Runs below count as deep in the chain: otherwise a sub-agent would reset the count and a loop could go on for ever.
  chain: { isHashed: true, inherit: whole },
  mayHandOff: { isHashed: false, inherit: nothing },
  // The caller sets it anew with each message.
  holds: { isHashed: false, inherit: nothing },
  onDemand: own,
  // A retry may arrive by another surface. Runs below have the origin of the first one.
  origin: { isHashed: false, inherit: whole },
  // A retry may come with another key of the principal. Runs below end with the same key.
  key: { isHashed: false, inherit: whole },
  grant: { isHashed: false, inherit: whole },
}

const names = Object.keys(runOptionFields) as (keyof RunOptions)[]

const given = (entries: readonly (readonly [string, unknown])[]): RunOptions =>
  Object.fromEntries(entries.filter(([, value]) => value !== undefined))

/** The options in something that has them among other fields. */
export const toRunOptions = (from: RunOptions): RunOptions =>
  given(names.map((name) => [name, from[name]]))

/** The run's origin, for the record. */
export const toEntry = ({ origin }: RunOptions): Pick<RunOptions, 'origin'> =>
  given([['origin', origin]])

function inherited<Name extends keyof RunOptions>(name: Name, options: RunOptions) {
  const { inherit }: RunOptionRule<RunOptions[Name]> = runOptionFields[name]
  return inherit(options[name])
}

/** The options that a run below inherits. */
export const toInherited = (options: RunOptions): RunOptions =>
  given(names.map((name) => [name, inherited(name, options)]))
