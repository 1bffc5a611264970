import type { DirectCall } from './direct-call.ts'
import type { Limits } from './lease.ts'
import type { ModelParameters, ToolDefinition } from './model.ts'
import type { Pauses } from './tool.ts'

/** What may be asked of a run besides its messages: the same fields from the surface to the session and its agent. */
export interface RunOptions {
  readonly model?: string
  readonly parameters?: ModelParameters
  /** A client's own system or developer message, added after ours, labelled. */
  readonly clientInstructions?: string
  /** What this run may spend at most, besides what its agent and its session may. */
  readonly limits?: Partial<Limits>
  /** What the run may be parked for; nothing if absent. */
  readonly pauses?: Pauses
  /** Tools whose every call somebody must approve, also below: names, or `<plugin>__*`, or `*`. */
  readonly requireApproval?: readonly string[]
  /** Tools that the client runs: a call of one parks the run. */
  readonly clientTools?: readonly ToolDefinition[]
  /** Adds a tool with which the agent asks the person a question. */
  readonly mayAsk?: boolean
  /** The run makes this one call, through every gate, and is over with what came of it: no model is asked. */
  readonly directCall?: DirectCall
}

/** What holds for one option wherever runs are told apart or begun by others. */
export interface RunOptionRule {
  /** Part of the body that an idempotency key stands for: a retry with another value is another request. */
  readonly isHashed: boolean
  /** Holds for what the run's tools begin below it. */
  readonly isInherited: boolean
}

const own = { isHashed: true, isInherited: false } as const

/** Every option has its line; a new one does not compile without. */
export const runOptionFields = {
  model: own,
  parameters: own,
  clientInstructions: own,
  limits: own,
  // What a surface can wait for depends on its version, not on what was asked.
  pauses: { isHashed: false, isInherited: true },
  requireApproval: { isHashed: true, isInherited: true },
  clientTools: own,
  mayAsk: own,
  directCall: own,
} as const satisfies Readonly<Record<keyof RunOptions, RunOptionRule>>

type Fields = typeof runOptionFields
type InheritedName = {
  [Name in keyof Fields]: Fields[Name]['isInherited'] extends true ? Name : never
}[keyof Fields]
/** The options that hold for children too. */
type InheritedOptions = Pick<RunOptions, InheritedName>

const entriesOf = (options: RunOptions) =>
  Object.entries(runOptionFields).flatMap(([name, rule]) => {
    const value = options[name as keyof RunOptions]
    return value === undefined ? [] : [{ name, value, rule }]
  })

/** The options in something that has them among other fields. */
export const toRunOptions = (from: RunOptions): RunOptions =>
  Object.fromEntries(entriesOf(from).map(({ name, value }) => [name, value]))

/** Those that hold for children. */
export const toInherited = (from: RunOptions): InheritedOptions =>
  Object.fromEntries(
    entriesOf(from).flatMap(({ name, value, rule }) => (rule.isInherited ? [[name, value]] : [])),
  )
