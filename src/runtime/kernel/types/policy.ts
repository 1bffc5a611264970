import type { JsonObject } from '#contracts/json.ts'
import type { Label, Sink } from '#contracts/label.ts'
import type { Destination } from '#contracts/destination.ts'
import type { Amount } from '#contracts/lease.ts'
import type {
  PauseRequest,
  SchemaValidator,
  ToolContext,
  ToolEntry,
  ToolResult,
} from '#contracts/tool.ts'

/** A call as policies, rate limits, approvals and hooks see it: the same for every tool. */
export interface CallSubject {
  readonly principal: string
  readonly session: string
  readonly rootSession: string
  readonly run: string
  readonly agent: string
  readonly call: string
  readonly tool: string
  readonly input: JsonObject
  /** The tool declares itself destructive, or writes into a database. */
  readonly isDestructive?: boolean
  /** Where the call goes; anywhere if absent. */
  readonly goesTo?: Destination | undefined
  /** The label of everything that the caller has read. Absent means least trusted. */
  readonly label?: Label | undefined
  /** What the call does outward; every sink if absent. */
  readonly sinks?: readonly Sink[] | undefined
  /** Aborts when its run's segment ends. Look-ups for calls with the same signal may be joined. */
  readonly signal?: AbortSignal
}

/** Whether a call may be made, and if not why. */
export type PolicyVerdict =
  | { readonly allow: true }
  | {
      readonly allow: false
      readonly code: 'tool_denied' | 'tool_rate_limited'
      readonly message: string
    }

/** May this call run? Denials look alike to the model and differ in `reason` on the record. */
export interface Policy {
  readonly decide: (subject: HookSubject) => PolicyVerdict | Promise<PolicyVerdict>
}

/** The names of the given tools that the policy denies to this agent and principal, whatever the arguments. */
export type DeniedTools = (
  tools: readonly ToolEntry[],
  by: Pick<CallSubject, 'agent' | 'principal'>,
) => Promise<readonly string[]>

/** May this call run now? */
export interface RateLimiter {
  readonly take: (subject: HookSubject, nowMs: number) => PolicyVerdict | Promise<PolicyVerdict>
}

/** The verdict of the hooks before a call: a veto wins over every change. `label` is of their changes or message. */
export type HookVerdict =
  | { readonly veto: false; readonly input?: JsonObject; readonly label?: Label }
  | { readonly veto: true; readonly message: string; readonly label?: Label }

/** A call as hooks see it, with the ports to report to and the signal to stop at. */
export type HookSubject = CallSubject &
  Pick<ToolContext, 'shared' | 'trace' | 'traceLink' | 'depth' | 'ancestry' | 'signal' | 'emit'>

/**
 * Words in the input of a call that its caller has not seen: a narrow reader read them, and the runtime filled them in.
 */
export interface UnseenWords {
  /**
   * Each parameter with unseen words, with their label. `isLink`: the words are a link of the material and nothing
   * else.
   */
  readonly parts: readonly {
    readonly parameter: string
    readonly label: Label
    readonly isLink: boolean
  }[]
  /** The joined label of all parts. */
  readonly label: Label
  /** The label of everything else that the caller has read. */
  readonly own: Label
}

/** Code of others around a call. A veto wins; a failed or late one counts as a veto. */
export interface ToolHooks {
  readonly before: (subject: HookSubject) => Promise<HookVerdict>
  readonly after: (subject: HookSubject, result: ToolResult) => Promise<ToolResult>
}

/** Called with the outcome of a sub-agent, before its caller gets it. Never rejects. */
export type SubAgentStopped = (
  stopped: {
    readonly agent: string
    /** The sub-agent's session. */
    readonly child: string
    readonly state: string
    readonly error?: { readonly code: string; readonly message: string }
    readonly text: string
  },
  context: ToolContext,
) => Promise<void>

/** A call that may need an approval. `asks`: the tool or the run wants an approval, whatever the policy says. */
export type ApprovalSubject = CallSubject & {
  readonly asks?: 'tool' | 'run' | undefined
  readonly definitionHash?: string | undefined
  /** The reservation of the call now: the call spends no more than this. */
  readonly amount?: Pick<Amount, 'tokens' | 'costNanoUsd'>
  readonly emit?: ToolContext['emit'] | undefined
}

/**
 * What an approver sees of a call; a caller that cannot ask for an approval reads `about`. `isCovered`: a rule that a
 * principal approved before covers the call.
 */
export type ApprovalNeed = Pick<PauseRequest, 'about' | 'approval'> & { readonly isCovered?: true }

/** Decides which calls need an approval, also those for which the tool or the run wants one. */
export interface Approvals {
  /** `false`: no approval is needed. */
  readonly isNeeded: (
    subject: ApprovalSubject,
  ) => ApprovalNeed | false | Promise<ApprovalNeed | false>
}

/** The call that an output belongs to, and the label of the output. */
type Kept = Pick<CallSubject, 'session' | 'rootSession' | 'run' | 'call' | 'label'>

/** Stores an output that is too long for the context behind a handle: an output is never silently cut. */
export interface OutputStore {
  /** At most this many characters of JSON go to the model as they are. */
  readonly maxChars: number
  readonly keep: (of: Kept, json: string) => Promise<JsonObject>
}

/** The checks around every call, by composition: a gate whose room is not built yet passes everything. */
export interface GateParts {
  readonly validator: SchemaValidator
  readonly policy: Policy
  readonly rates: RateLimiter
  readonly hooks: ToolHooks
  readonly approvals: Approvals
  readonly outputs: OutputStore
}
