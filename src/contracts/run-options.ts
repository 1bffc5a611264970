import type { EventChain } from './event-bus.ts'
import type { FloorTerms, FloorTicket } from './floor.ts'
import type { JsonObject } from './json.ts'
import type { Limits } from './lease.ts'
import type { OnDemandAgent } from './stored-agent.ts'
import type { ModelParameters, ToolDefinition } from './model.ts'

/** What a run may wait for: anybody outside, only the tools its client runs, or nothing (then such a call fails and says so). */
export type PauseMode = 'park' | 'client_tools' | 'refuse'

/** A tool of an agent's reach that somebody outside calls: a run of that one call, through every gate, without a model. */
export interface DirectCall {
  readonly tool: string
  readonly input: JsonObject
  /** It passes a message on to whoever has the conversation, whose words are the answer. Only the session says so. */
  readonly floor?: FloorTicket
}

/**
 * For whom a run compacts what was said: for the session that it is in, or for a client that keeps what it gets, where
 * nobody could open a handle later.
 */
export type CompactFor = 'session' | 'client'

/** What may be asked of a run besides its messages: one object from the surface to the agent's last call. */
export interface RunOptions {
  readonly model?: string
  readonly parameters?: ModelParameters
  /** A client's own system or developer message, added after ours, labelled. */
  readonly clientInstructions?: string
  /** The persona that the orchestrator speaks as, instead of that of its session or key; `none` for its own voice. */
  readonly persona?: string
  /** What this run may spend at most, besides what its agent and its session may. */
  readonly limits?: Partial<Limits>
  /** What the run may be parked for; nothing if absent. */
  readonly pauses?: PauseMode
  /** Somebody comes back to it who can raise a limit that it reaches: it is parked then, and stopped if absent. */
  readonly mayRaise?: boolean
  /** Tools whose every call somebody must approve, also below: names, or `<plugin>__*`, or `*`. */
  readonly requireApproval?: readonly string[]
  /** Tools that the client runs: a call of one parks the run. */
  readonly clientTools?: readonly ToolDefinition[]
  /** Its client keeps the conversation, and brings all of it along with its next request. */
  readonly bringsAll?: boolean
  /** Adds a tool with which the agent asks the person a question. */
  readonly mayAsk?: boolean
  /** The run makes this one call, through every gate, and is over with what came of it: no model is asked. */
  readonly directCall?: DirectCall
  /** The run compacts what was said before it and is over: it answers nothing. */
  readonly compact?: CompactFor
  /** Its messages are kept, and it is over: nobody answers them. */
  readonly isNote?: boolean
  /** An event began it, also where it is below a run that one began. */
  readonly chain?: EventChain
  /** A call of it may take the conversation: the next message of the session comes back. Only the session says so. */
  readonly mayHandOff?: boolean
  /** It answers for a tool that has the conversation, or takes it with this answer, on these terms. */
  readonly holds?: FloorTerms
  /** The agent itself, where it lives for this request only. */
  readonly onDemand?: OnDemandAgent
  /** The surface it came in by, for the record alone: nothing decides by it. */
  readonly origin?: string
  /** The id of the key it was asked with, also below; absent for the operator key. */
  readonly key?: string
  /** The id of the sign-in whose token it was asked with, also below; absent for a key. */
  readonly grant?: string
}

/** What holds for one option wherever runs are told apart or begun by others. */
export interface RunOptionRule<Value> {
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

const names = Object.keys(runOptionFields) as (keyof RunOptions)[] // its own keys, by its type

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
