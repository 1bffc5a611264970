import type { RunOptions } from '#contracts/run-options.ts'

/** What holds for one option wherever runs are told apart or begun by others. */
interface RunOptionRule<Value> {
  /** Part of the body that an idempotency key stands for: a retry with another value is another request. */
  readonly isHashed: boolean
  /** What a run that a tool begins below gets of it: `undefined` is nothing. */
  readonly inherit: (value: Value | undefined) => Value | undefined
}

const nothing = () => undefined

const whole = <Value>(value: Value): Value => value

const own = { isHashed: true, inherit: nothing } as const

/** Every option has its line; a new one does not compile without. */
export const runOptionFields: {
  readonly [Name in keyof Required<RunOptions>]: RunOptionRule<RunOptions[Name]>
} = {
  model: own,
  parameters: own,
  clientInstructions: own,
  // Who asks reads how it is said; a child is read by its caller.
  persona: own,
  limits: own,
  // What a surface can wait for is no part of what was asked. A child has no client with tools.
  pauses: { isHashed: false, inherit: (pauses) => (pauses === 'park' ? 'park' : 'refuse') },
  // A child's limits are its parent's to give: it is the parent that asks.
  mayRaise: { isHashed: false, inherit: nothing },
  requireApproval: { isHashed: true, inherit: whole },
  clientTools: own,
  // It changes nothing of the answer.
  bringsAll: { isHashed: false, inherit: nothing },
  mayAsk: own,
  directCall: own,
  compact: own,
  isNote: own,
  // What is begun below is as deep in the chain: else a loop would go round by a sub-agent.
  chain: { isHashed: true, inherit: whole },
  mayHandOff: { isHashed: false, inherit: nothing },
  // Who calls says it anew with each message.
  holds: { isHashed: false, inherit: nothing },
  onDemand: own,
  // Where a retry comes in by is no part of what it asks; what is begun below came in there too.
  origin: { isHashed: false, inherit: whole },
  // Any of its principal's keys may repeat a request; what is begun below ends with the same one.
  key: { isHashed: false, inherit: whole },
  grant: { isHashed: false, inherit: whole },
}

const names = Object.keys(runOptionFields) as (keyof RunOptions)[]

const given = (entries: readonly (readonly [string, unknown])[]): RunOptions =>
  Object.fromEntries(entries.filter(([, value]) => value !== undefined))

/** The options in something that has them among other fields. */
export const toRunOptions = (from: RunOptions): RunOptions =>
  given(names.map((name) => [name, from[name]]))

/** By which way in a run came, for the record. */
export const toEntry = ({ origin }: RunOptions): Pick<RunOptions, 'origin'> =>
  given([['origin', origin]])

function inherited<Name extends keyof RunOptions>(name: Name, options: RunOptions) {
  const { inherit }: RunOptionRule<RunOptions[Name]> = runOptionFields[name]
  return inherit(options[name])
}

/** What a run that a tool begins below has of them. */
export const toInherited = (options: RunOptions): RunOptions =>
  given(names.map((name) => [name, inherited(name, options)]))
