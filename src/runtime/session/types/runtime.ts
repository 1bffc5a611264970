import type { AgentSpec, AgentResult } from '#contracts/agent.ts'
import type { AgentPin, PinnedAgent } from '#runtime/kernel/types/agent-pin.ts'
import type { ApprovalRules } from './approval.ts'
import type { ContextReader } from '#runtime/kernel/types/context.ts'
import type { ErrorCode } from '#contracts/errors.ts'
import type { EventBus, AuditSink } from './audit-sink.ts'
import type { HeldWork, PrincipalLedger } from './principal.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { Limits } from '#contracts/lease.ts'
import type { Kernel } from '#runtime/kernel/types/kernel.ts'
import type { Offers } from '#contracts/manifest/manifest-offers.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import type { SessionGateway } from './session-api.ts'
import type { EndedSession } from './session-view.ts'
import type { RunnableListing } from './agent-schedules.ts'
import type { Submission, SubmitRequest } from './submission.ts'
import type { Sources } from '#contracts/sources.ts'
import type { Telemetry } from './telemetry.ts'
import type { Toolset } from '#contracts/tool.ts'
import type { ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'
import type { KnowledgeSettings, MemorySettings } from '#contracts/manifest/agent-manifest.ts'
import type { Message } from '#contracts/message.ts'
import type { ListedTool } from '#runtime/catalog/types/plugin-catalog.ts'
import type { KnownAgents } from '#platform/routes/targets.ts'

/** A run, as its memory knows it. */
export interface RememberedRun {
  readonly principal: string
  readonly agent: string
  readonly session: string
  readonly run: string
  /** The messages of the task. */
  readonly asked: readonly Message[]
}

/** Long-term memory and documents around a run, for agents that have them. */
export interface RunMemory {
  /**
   * Memories and document passages for a run, with their labels; empty if none fits. Never rejects: a run goes on
   * without.
   */
  readonly recall: (
    run: RememberedRun,
    settings: {
      readonly memory?: MemorySettings | undefined
      readonly knowledge?: KnowledgeSettings | undefined
    },
  ) => Promise<Message | undefined>
  /** Stores memories of the run. Never rejects. */
  readonly keep: (
    run: RememberedRun,
    settings: MemorySettings,
    result: AgentResult,
  ) => Promise<void>
}

/** An agent with its tools, made ready for one session. */
export interface ReadyAgent {
  readonly spec: AgentSpec
  readonly toolset: Toolset
  /** The pin from which a run is resumed; absent where none is stored. */
  readonly pin?: AgentPin
  /** The agent's limits of today, if its spec is that of a run's beginning. */
  readonly limitsNow?: Limits
}

/** The circumstances for which an agent is loaded. */
export interface AgentUse {
  /** The lease that its caller gives a child. */
  readonly lease?: Limits | undefined
  /**
   * The spec that the run began with: instructions, model, parameters, limits and definitions. The tools behind the
   * definitions are today's.
   */
  readonly pinned?: PinnedAgent | undefined
  /** The persona of its session or key. A persona that does not exist, or is for another agent, has no effect. */
  readonly persona?: string | undefined
  /** The principal of the run: decides which agents without a plugin may run. */
  readonly principal?: string | undefined
}

/** The agents and tools of the deployment, as a session sees them. */
export interface AgentDirectory extends KnownAgents {
  /** `undefined` if there is no such agent. Throws `request_invalid` for a requested persona that cannot be used. */
  readonly load: (
    agent: string,
    options: RunOptions,
    use?: AgentUse,
  ) => Promise<ReadyAgent | undefined>
  /** All agents without a plugin that the principal may run, without their texts. May throw `request_unavailable`. */
  readonly listRunnable?: (principal: string) => Promise<readonly RunnableListing[]>
  /**
   * The full names of the tools that match these names and patterns (`kv__*`). While the Catalog does not answer, only
   * tools that every run has.
   */
  readonly toolNames: (wanted: readonly string[]) => Promise<readonly string[]>
  /** The same tools with their definitions. May throw `request_unavailable`. */
  readonly tools: (wanted: readonly string[]) => Promise<readonly ListedTool[]>
  /**
   * The resources and prompts of these plugins and servers, read without running code. May throw `request_unavailable`.
   */
  readonly offers: (owners: readonly string[]) => Promise<Offers>
  /** The start of the orchestrator's window under a policy. May throw `request_unavailable`. */
  readonly promptUnder: (policy: ToolPolicy) => Promise<OrchestratorPrompt>
}

/** The start of the orchestrator's window: instructions and definitions. In tokens, as estimated. */
export interface OrchestratorPrompt {
  readonly tokens: number
  readonly most: number
  /** The pinned tools that exist, with the tokens of each definition. */
  readonly pinned: readonly { readonly name: string; readonly tokens: number }[]
  /** The pinned tools that exist and did not fit. */
  readonly left: readonly string[]
}

/** Everything a session needs to run an agent. Built once from bindings; holds no session's state. */
export interface SessionRuntime extends Sources {
  readonly agents: AgentDirectory
  readonly kernel: Kernel
  readonly context: ContextReader
  readonly sessions: SessionGateway
  readonly audit: AuditSink
  readonly principals: PrincipalLedger
  /** Absent where no principal can subscribe to events. */
  readonly events?: EventBus
  /** Stores approvals of later calls; absent where none are stored. */
  readonly approvalRules?: Pick<ApprovalRules, 'add'>
  /**
   * Whether a run may begin now for a principal who asked for it earlier and sends no key now. May throw
   * `request_unavailable`.
   */
  readonly mayBegin: (
    asked: Pick<Submission, 'principal' | 'key' | 'grant' | 'agent' | 'model'> & {
      /** And may read other principals' events. */
      readonly seesEverybody?: true
    },
  ) => Promise<boolean>
  /**
   * Whether the key of a request holds, and all that its claim says of it. May throw `request_unavailable`. Absent
   * where there are no keys: then no claim holds.
   */
  readonly holdsClaim?: (
    claimed: Pick<SubmitRequest, 'principal' | 'key' | 'claim'>,
  ) => Promise<boolean>
  /**
   * Why the principal of an older run may no longer do its work: the lost right, in words. `undefined` if every right
   * is still there, or the record cannot be read. Absent where there are no keys.
   */
  readonly whyNotOn?: (
    asked: Pick<Submission, 'principal' | 'agent' | 'model'>,
  ) => Promise<{ readonly code: ErrorCode; readonly message: string } | undefined>
  /** Absent in a deployment without keys. */
  readonly held?: HeldWork
  readonly timing: SessionTiming
  /** Absent where there is no long-term memory. */
  readonly memory?: RunMemory
  /** Called before a session is deleted, and again if the deletion failed. Never rejects. */
  readonly onSessionEnded?: ((ended: EndedSession) => Promise<void>) | undefined
  /** Counts platform work that belongs to no run. */
  readonly deployment?: PlatformCount
  /** Absent if traces are not exported. */
  readonly telemetry?: Telemetry
}

/** The waiting times of a session, in milliseconds. */
export interface SessionTiming {
  /**
   * While a run is live, or something is still to be carried, the object is woken this often; after a crash, that is
   * how soon.
   */
  readonly recoverEveryMs: number
  /** How long a pause for an approval, an answer or a client's tool may take. */
  readonly pauseMs: number
  /** How long a session without a client's id is kept after its last run (docs/design.md section 11). */
  readonly keepStatelessMs: number
  /** The same for a session with a client's id. */
  readonly keepNamedMs: number
  /** How long a tombstone is kept: it refuses a call whose cancellation came first. */
  readonly keepGravesMs: number
  /** How long after the deletion of a session its object checks that no rows are left. */
  readonly vanishAgainMs: number
}

const dayMs = 86_400_000

export const defaultTiming: SessionTiming = {
  recoverEveryMs: 10_000,
  pauseMs: 7 * dayMs,
  keepStatelessMs: 3_600_000,
  keepNamedMs: 90 * dayMs,
  keepGravesMs: dayMs,
  vanishAgainMs: 60_000,
}
