import type { ApprovalRequest } from './approval.ts'
import type { ToolErrorCode, LeaseErrorCode } from './errors.ts'
import type { EventData, EventDraft, MessageDelta } from './event.ts'
import type { FloorChange } from './floor.ts'
import type { Json, JsonObject, JsonSchema } from './json.ts'
import type { LimitReached, Limits, Usage } from './lease.ts'
import type { Label, Sink } from './label.ts'
import type { TaintLabel } from './message.ts'
import type { Destination } from './destination.ts'
import type { ModelReply, ModelRequest, ModelSelection, ToolDefinition } from './model.ts'
import type { RunOptions } from './run-options.ts'
import type { SharedFrom } from './manifest/agent-manifest.ts'
import type { TraceLink } from './trace.ts'

/**
 * The one callable thing: a built-in, a plugin's, a remote server's, a person and a sub-agent look alike (N1, N2).
 *
 * `execute` gets input already validated against `inputSchema`. It may throw; the pipeline turns that into a
 * failed result. It must stop when `context.signal` aborts.
 */
export interface Tool extends ToolDefinition {
  /** The schema of its output by its author, for signatures; results are not checked against it. */
  readonly outputSchema?: JsonSchema
  readonly execute: (input: JsonObject, context: ToolContext) => Promise<ToolResult>
}

/**
 * The caller, its principal and its limits: the explicit inputs of one call. Nothing is read from anywhere else (N4,
 * N5).
 */
export interface ToolContext {
  readonly call: string
  readonly run: string
  readonly session: string
  /** The session at the root of the tree. */
  readonly rootSession: string
  /** The storage that the session shares with those above it, in place of its own. */
  readonly shared?: SharedFrom | undefined
  readonly principal: string
  readonly agent: string
  /** W3C trace id, one for the whole tree. */
  readonly trace: string
  /** The incoming trace context; absent if the trace began with this run. */
  readonly traceLink?: TraceLink
  readonly depth: number
  /**
   * Agents above and including the caller, and tools whose code made the calls in between: none may be called
   * again.
   */
  readonly ancestry: readonly string[]
  /**
   * The options of its run: among them what this call may wait for (`tool_pending`), and which calls below it a
   * principal must approve.
   */
  readonly options: RunOptions
  /** Stable over retries and restarts; sent as `Idempotency-Key` where the other side can honour it. */
  readonly idempotencyKey: string
  /** The most this call may spend, out of the caller's lease. */
  readonly lease: Limits
  /** Fires in the object this call runs in: timeout, cancel, revoked lease. */
  readonly signal: AbortSignal
  readonly emit: (event: EventDraft) => void
  /** Set if this call is made by another one: that one's id. */
  readonly parent?: string
  /** The calls that the tool's code may make itself; only where its entry has `inner`. */
  readonly inner?: InnerCalls
  /** The answers to this call's earlier questions; the call runs again from its start. */
  readonly answers?: AskAnswers | undefined
  /** A principal approved this very call with these arguments. */
  readonly isApproved?: boolean
  /** Streams pieces of its text, which is the run's answer, to a reader. The pieces are not stored. */
  readonly say?: (piece: Pick<MessageDelta, 'turn' | 'offset' | 'text'>) => void
  /**
   * The label of everything that the caller has read: values that the call passes on or stores get it. Least trusted
   * if absent.
   */
  readonly label?: Label | undefined
}

/**
 * Calls that a call makes itself, out of its own lease and on its own record. They end with the call, and their
 * spending is part of its own.
 */
export interface InnerCalls {
  /** The label of everything that came back to its code so far. */
  readonly label?: () => Label
  /** False for a tool that this one may not call. */
  readonly reaches: (tool: string) => boolean
  /**
   * Takes another tool through every gate, under that tool's name. Never throws.
   *
   * @param read Of what the code has read besides what its calls returned.
   */
  readonly callTool: (tool: string, input: JsonObject, read?: Label) => Promise<ToolResult>
  /**
   * Asks a model, leased like a model call of the loop; absent if the entry may not. Throws `model_…` and `lease_…`.
   *
   * @param mayUse False for a model that must not take this request, nor take it over from another.
   */
  readonly generate?: (
    request: ModelRequest,
    mayUse: (selection: ModelSelection) => boolean,
  ) => Promise<ModelReply>
}

/** The calls that a tool's code may make within a call. */
export interface InnerReach {
  /** The tools it may call; `agent`: the tools of the calling agent, by the same rules as for that agent's model. */
  readonly resolve: Toolset['resolve'] | 'agent'
  /** The most that its own model calls may take out of the call's lease, together; none may be made if absent. */
  readonly model?: Pick<Limits, 'maxTokens' | 'maxCostNanoUsd'>
  /**
   * How many children a call counts as: 1 for an agent. A call that counts as 0 may begin with nothing left to spend.
   */
  readonly children: 0 | 1
}

/** Why a call failed, for the model that asked for it. */
export interface ToolFailure {
  readonly code: ToolErrorCode | LeaseErrorCode
  /** Safe for the model. */
  readonly message: string
  readonly transient?: boolean
}

/**
 * What a run may wait for: an approval, an answer to a question, a tool that the client runs, another session, or
 * (`budget`) a higher limit in place of the limit it has reached.
 */
export type PauseKind = 'approval' | 'question' | 'client_tool' | 'session' | 'budget'

/** How a tool says that its outcome comes from outside, later: with the failed result `tool_pending`. */
export interface PauseRequest {
  readonly kind: PauseKind
  /** False if the other side reports in any case, so that nothing is gained by giving up. */
  readonly expires: boolean
  /** One line that a principal should see before deciding, beside the arguments; it has no hidden characters. */
  readonly about?: string
  /** The label of everything that the caller has read, and of the question's own author. */
  readonly label?: Label | undefined
  /** For an approval: who decides, and facts about the call for that decision. */
  readonly approval?: ApprovalRequest
  /**
   * The questions, by key, in the asking tool's own form: the core does not read them. With all answers the call runs
   * again from its start, through every gate, and finds them in its context; without this field the answer is the
   * outcome.
   */
  readonly asks?: Asks
  /** Set for a question in a call that changes nothing: an accepting answer approves no effect. */
  readonly isReadOnly?: boolean
  /** Of kind `budget`, where the run waits as a whole: the limit that it has reached. */
  readonly reached?: LimitReached
}

/** The questions of a call, by a key of its own for each. */
export type Asks = Readonly<Record<string, JsonObject>>

/** The answers, by key, each beside its question: an answer holds for exactly that question. */
export type AskAnswers = Readonly<
  Record<string, { readonly asked: JsonObject; readonly answer: Json }>
>

/** `usage` is what the call itself spent (model calls of a sub-agent); nothing if absent. */
export type ToolResult =
  | {
      readonly ok: true
      readonly output: Json
      readonly taint?: readonly TaintLabel[]
      /** The label that the result adds to the reading context; absent: the entry's `yields`. Only the host sets it. */
      readonly label?: Label | undefined
      readonly usage?: Usage
      readonly shows?: ShownTools
      /** Whatever its tool is, the host says so: the conversation is its tool's from here on, or is given back. */
      readonly floor?: FloorChange
      readonly aside?: KeptAside | undefined
    }
  | {
      readonly ok: false
      readonly error: ToolFailure
      /** The label of its error's text. */
      readonly label?: Label | undefined
      readonly usage?: Usage
      /** With the code `tool_pending` only: the outcome comes from outside, and the run is parked for it. */
      readonly pause?: PauseRequest
      readonly shows?: ShownTools
      readonly aside?: KeptAside | undefined
    }

/**
 * The text that the parent's model reads in place of the handoff agent's words: the user reads those words, that
 * model does not.
 */
interface KeptAside {
  readonly output: Json
  readonly label: Label
}

/**
 * The tool definitions that a result shows to its reader: by name, `definitionHash` of the shown definition. Only the
 * core sets it.
 */
type ShownTools = Readonly<Record<string, string>>

/** Whose a tool is, for people who read the record. */
export type ToolOwner = Pick<EventData<'tool_started'>, 'plugin' | 'version' | 'tier' | 'server'>

/**
 * A tool with what the host knows about it and the loop needs. All of it means the same for every tool.
 */
export interface ToolEntry {
  readonly tool: Tool
  /** Confirmed hints (builtin, or confirmed by the operator): a cut call may run again. */
  readonly isReadOnly: boolean
  readonly isIdempotent: boolean
  /** The tool's own limit in milliseconds, capped by what the run has left. */
  readonly timeoutMs: number
  /** Set if a call may itself spend: the most it may take out of the caller's lease. */
  readonly spends?: Limits
  /** Set, with `spends`, if a call works with tools: it is not begun where its share has no call of one. */
  readonly callsTools?: boolean
  /** Set, with `spends`, if a call works in a session of its own: that of this agent. */
  readonly agent?: string
  /** An extra cost of a call: taken out of the caller's lease, and given back unless its `usage` has it. */
  readonly feeNanoUsd?: number
  /** Set, with `spends`, if its code may call tools or models. */
  readonly inner?: InnerReach
  /** It says that it destroys, or it writes into a database: the policy decides (I27). `presumed`: it says nothing. */
  readonly isDestructive?: boolean | 'presumed'
  /** Its effects outward, by its grants and not by its own claims; absent: all of them. */
  readonly sinks?: readonly Sink[]
  /** The worst label of its results, besides the label of its input; absent: least trusted. */
  readonly yields?: Label
  /** The label of its texts that a model reads before a call; absent: ours, or approved by an operator. */
  readonly toldLabel?: Label
  /** A principal must approve each call, with the arguments it has. */
  readonly needsApproval?: boolean
  /** Where a call goes; anywhere if absent. */
  readonly goesTo?: (input: JsonObject) => Destination | undefined
  /** sha-256 of the definition, pinned in the journal at first use. */
  readonly definitionHash: string
  /** Copied into events verbatim; no code decides by it (N3: for logs only). */
  readonly record: ToolOwner
}

/** The tools of one agent, fixed for a session. */
export interface Toolset {
  /** The definitions that the model sees, in a fixed order: byte-identical from turn to turn. */
  readonly definitions: readonly ToolDefinition[]
  /** The label of the definitions; ours if absent. */
  readonly label?: Label
  /**
   * Looks up tools that these calls name and that are not loaded yet, so that `resolve` finds them. Never rejects: a
   * tool that cannot be looked up is not found, and `away` says that the catalog is unavailable. Absent where all
   * tools are loaded.
   */
  readonly ready?: (
    calls: readonly { readonly toolId: string; readonly input: JsonObject }[],
  ) => Promise<void | 'away'>
  /**
   * The entry a call means, with the input for it; `undefined` if this agent has no such tool.
   * A tool that stands for another (`isola__call`) resolves to that other one.
   */
  readonly resolve: (name: string, input: JsonObject) => ResolvedTool | undefined
  /** The message for a call that resolves to no tool; absent: only that there is no tool of that name. */
  readonly missing?: (name: string, input: JsonObject) => string
  /** The tool with which a model looks at the others again; absent if it has none. */
  readonly finder?: string
  /** Why a call must not be made: the tool is not the one that its run knows. Absent: nothing is known of before. */
  readonly refuse?: (call: string, entry: ToolEntry) => ToolResult | undefined
}

/** The tool behind a name, and the input it gets. */
export interface ResolvedTool {
  readonly entry: ToolEntry
  readonly input: JsonObject
}

/** Whether a value fits; if not, the first place where it does not. */
export type SchemaVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly path: string; readonly message: string }

/** Checks a value against a JSON Schema. Never runs a remote schema's `pattern` on the native RegExp. */
export interface SchemaValidator {
  readonly validate: (schema: JsonSchema, value: Json) => SchemaVerdict
}
