import type { JsonObject } from '#contracts/json.ts'
import type { Label } from '#contracts/label.ts'
import type { AgentSpec } from '#contracts/agent.ts'
import type { AddedText } from './agent-pin.ts'
import type { Limits } from '#contracts/lease.ts'
import type { EventDraft } from '#contracts/event.ts'
import type { Message, OpaqueFields } from '#contracts/message.ts'
import type { ModelReply, ModelRequest, ToolDefinition } from '#contracts/model.ts'
import type { ToolContext, ToolResult } from '#contracts/tool.ts'

/** One step of a plan. A turn has any number of `tool` steps, or one `finish`. */
export type PlanStep =
  | {
      readonly type: 'tool'
      readonly callId: string
      readonly toolId: string
      readonly input: JsonObject
      readonly reason?: string
      readonly opaque?: OpaqueFields
    }
  | { readonly type: 'message'; readonly message: string }
  | {
      readonly type: 'finish'
      readonly message: string
      readonly output?: JsonObject
      readonly reason?: string
    }
  | { readonly type: 'internal'; readonly reason: string }

/** The caller of the run; `ancestry` includes its own agent. */
type RunCaller = Pick<
  ToolContext,
  | 'run'
  | 'session'
  | 'rootSession'
  | 'shared'
  | 'principal'
  | 'trace'
  | 'traceLink'
  | 'depth'
  | 'ancestry'
  | 'options'
  | 'label'
> & {
  /** `start`: the first run of its session. `reset`: a run that does not continue the session's end. */
  readonly opening?: 'start' | 'reset' | undefined
}

/** The texts that hooks add to the instructions of a run's model calls. */
export interface AddedTexts {
  /** The texts that the run began with. A resumed run gets no others. */
  readonly kept?: readonly AddedText[] | undefined
  /** Called with the texts that are added to a model call. */
  readonly note: (texts: readonly AddedText[]) => void
}

/** All a planner may know: transport-free. */
export interface PlannerState {
  readonly caller: RunCaller
  readonly agent: AgentSpec
  /** System prompt first, then the transcript with the current task and this run's turns. */
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  /** Counts from 1 within the run. */
  readonly turn: number
  /** The rest of the run's lease. */
  readonly left: Limits
  readonly signal: AbortSignal
  /** The only way to a model: each call is reserved before and settled after. Throws `lease_…` or `model_…`. */
  readonly generate: (request: ModelRequest) => Promise<ModelReply>
  /** Absent where added texts are not stored. */
  readonly added?: AddedTexts | undefined
  /** Called with the label of texts that a model is sent besides `messages`; least trusted if undefined. */
  readonly read?: (label: Label | undefined) => void
  /** Adds an event to the session's log. */
  readonly emit: (event: EventDraft) => void
}

/** Decides what to do next. Its output is checked before anything is done. */
export interface Planner {
  readonly plan: (state: PlannerState) => Promise<readonly PlanStep[]>
}

/** The outcome of one `tool` step. */
export interface ActionResult {
  readonly callId: string
  readonly toolId: string
  readonly result: ToolResult
}

/** One `tool` step on its way to be done. */
export type ToolStep = Extract<PlanStep, { type: 'tool' }>

/** The tools of an executor. */
interface ExecutionContext {
  /** Calls that may run side by side. */
  readonly maxConcurrency: number
  readonly signal: AbortSignal
  /**
   * Takes one step through every gate; the only way to run a tool. Never rejects; a second time gives the same
   * result.
   */
  readonly pass: (step: ToolStep) => Promise<ActionResult>
}

/**
 * Does the calls of one turn: decides when each is run, never whether it passes the gates. A step it leaves out
 * counts as failed; in which order the results come back does not matter.
 */
export interface ToolExecutor {
  readonly execute: (
    steps: readonly ToolStep[],
    context: ExecutionContext,
  ) => Promise<readonly ActionResult[]>
}

/** A turn whose calls are done. The reflector decides whether another one follows. */
export interface ReflectorState {
  readonly agent: AgentSpec
  readonly turn: number
  readonly steps: readonly PlanStep[]
  readonly actions: readonly ActionResult[]
  readonly left: Limits
}

/** Another turn, or the run's result. */
export type Reflection =
  | { readonly decision: 'continue' }
  | { readonly decision: 'finish'; readonly result: string; readonly output?: JsonObject }

/** Looks at a turn's outcome and decides whether the goal is met. */
export interface Reflector {
  readonly reflect: (state: ReflectorState) => Promise<Reflection>
}
