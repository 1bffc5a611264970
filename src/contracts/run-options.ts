import type { EventChain } from './event-bus.ts'
import type { FloorTerms, FloorTicket } from './floor.ts'
import type { JsonObject } from './json.ts'
import type { Limits } from './lease.ts'
import type { OnDemandAgent } from './manifest/agent-definition.ts'
import type { ModelParameters, ToolDefinition } from './model.ts'

/**
 * What a run may wait for: any answer from outside, only the tools its client runs, or nothing (then such a call
 * fails and says so).
 */
export type PauseMode = 'park' | 'client_tools' | 'refuse'

/**
 * A tool of an agent's reach that a client or a schedule calls: a run of that one call, through every gate, without a
 * model.
 */
export interface DirectCall {
  readonly tool: string
  readonly input: JsonObject
  /** Passes a message on to the handoff agent, whose words are the answer. Only the session sets it. */
  readonly floor?: FloorTicket
}

/**
 * For whom a run compacts the conversation: for its session, or for a client that stores the result itself, where no
 * later run could open a handle.
 */
type CompactFor = 'session' | 'client'

/** The options of a run besides its messages: one object from the surface to the agent's last call. */
export interface RunOptions {
  readonly model?: string
  readonly parameters?: ModelParameters
  /** A client's own system or developer message, added after ours, labelled. */
  readonly clientInstructions?: string
  /** The persona that the orchestrator speaks as, instead of that of its session or key; `none` for its own voice. */
  readonly persona?: string
  /** The most this run may spend, besides the limits of its agent and its session. */
  readonly limits?: Partial<Limits>
  /** The pauses that the run may make; none if absent. */
  readonly pauses?: PauseMode
  /**
   * A principal comes back to the run and can raise a limit that it reaches: then the run is parked; if absent, it is
   * stopped.
   */
  readonly mayRaise?: boolean
  /** Tools whose every call a principal must approve, also below: names, or `<plugin>__*`, or `*`. */
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
  /** Its messages are stored without an answer, and the run is over. */
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

// its own keys, by its type
