import type { AgentDescriptor, AgentSpec } from '#contracts/agent.ts'
import type { AgentPin, PinnedAgent } from '#runtime/kernel/types/agent-pin.ts'
import type { ApprovalRules } from './approval-rules.ts'
import type { ContextReader } from '#runtime/kernel/types/context-reader.ts'
import type { ErrorCode } from '#contracts/errors.ts'
import type { EventBus } from './event-bus.ts'
import type { HeldWork } from './held-work.ts'
import type { RunMemory } from './run-memory.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { Limits } from '#contracts/lease.ts'
import type { Kernel } from '#runtime/kernel/types/kernel.ts'
import type { ToolDefinition } from '#contracts/model.ts'
import type { Offers } from '#contracts/manifest/offer.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import type { PrincipalLedger } from './principal.ts'
import type { AuditSink } from './audit-sink.ts'
import type { SessionGateway } from './session-api.ts'
import type { EndedSession } from './session-view.ts'
import type { RunnableAgent } from '#contracts/stored-agent.ts'
import type { RunnableListing } from './stored-agent.ts'
import type { Submission } from './submission.ts'
import type { Sources } from '#contracts/sources.ts'
import type { Telemetry } from './telemetry.ts'
import type { Toolset } from '#contracts/tool.ts'
import type { ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'

/** An agent with its tools, made ready for one session. */
export interface ReadyAgent {
  readonly spec: AgentSpec
  readonly toolset: Toolset
  /** What a run of it that is taken up again goes on with; absent where that is not kept. */
  readonly pin?: AgentPin
  /** What the agent may spend as it is set now, where its spec is that of a run's beginning. */
  readonly limitsNow?: Limits
}

/** What an agent is made ready for. */
export interface AgentUse {
  /** Out of its caller's, for a child. */
  readonly lease?: Limits | undefined
  /** What its run was begun with: instructions, model, parameters, limits and definitions are those, the tools behind them today's. */
  readonly pinned?: PinnedAgent | undefined
  /** The persona of its session or key. One that is not there, or for another agent, changes nothing. */
  readonly persona?: string | undefined
  /** On whose behalf: who may run which of the agents that need no plugin. */
  readonly principal?: string | undefined
}

/** What is installed and enabled, as a session sees it. */
export interface AgentDirectory {
  /** `undefined` if there is no such agent. Throws `request_invalid` for a persona that was asked for and cannot be. */
  readonly load: (
    agent: string,
    options: RunOptions,
    use?: AgentUse,
  ) => Promise<ReadyAgent | undefined>
  readonly list: () => readonly AgentDescriptor[]
  /**
   * The agent of this id that needs no plugin, if a principal may run it now, in the version that it would. Absent where
   * there are none. May throw `request_unavailable`.
   */
  readonly runnable?: (principal: string, id: string) => Promise<RunnableAgent | undefined>
  /** Whether a principal may know of an agent of this id that needs no plugin, run it or not. May throw the same. */
  readonly isSeen?: (principal: string, id: string) => Promise<boolean>
  /** All of those, without their texts. May throw `request_unavailable`. */
  readonly listRunnable?: (principal: string) => Promise<readonly RunnableListing[]>
  /** Of these names and patterns (`kv__*`) the full names of the tools that there are; while the Catalog does not answer, of those that every run has. */
  readonly toolNames: (wanted: readonly string[]) => Promise<readonly string[]>
  /** The same with what they are. May throw `request_unavailable`. */
  readonly tools: (wanted: readonly string[]) => Promise<readonly ListedTool[]>
  /** What these plugins and servers have besides tools, read without running anything. May throw `request_unavailable`. */
  readonly offers: (owners: readonly string[]) => Promise<Offers>
  /** What the orchestrator's model would see from the start under a policy. May throw `request_unavailable`. */
  readonly promptUnder: (policy: ToolPolicy) => Promise<OrchestratorPrompt>
}

/** What the orchestrator's model sees before anybody says anything: instructions and definitions. In tokens, as estimated. */
export interface OrchestratorPrompt {
  readonly tokens: number
  readonly most: number
  /** What is pinned and there, with what its definition takes. */
  readonly pinned: readonly { readonly name: string; readonly tokens: number }[]
  /** What is pinned and there, and found no room. */
  readonly left: readonly string[]
}

/** A tool as somebody outside sees it; the hints are those that the host goes by. */
export interface ListedTool extends ToolDefinition {
  readonly isReadOnly: boolean
  readonly isIdempotent: boolean
  readonly isDestructive: boolean | 'presumed'
}

/** Everything a session needs to run an agent. Built once from bindings; holds no session's state. */
export interface SessionRuntime extends Sources {
  readonly agents: AgentDirectory
  readonly kernel: Kernel
  readonly context: ContextReader
  readonly sessions: SessionGateway
  readonly audit: AuditSink
  readonly principals: PrincipalLedger
  /** Absent where nobody can subscribe to anything. */
  readonly events?: EventBus
  /** Takes what approvals allow besides their own call; absent where nothing is kept of it. */
  readonly approvalRules?: Pick<ApprovalRules, 'add'>
  /** Whether a run may begin now for somebody who asked earlier, and is not here to show a key. May throw `request_unavailable`. */
  readonly mayBegin: (
    asked: Pick<Submission, 'principal' | 'key' | 'grant' | 'agent' | 'model'> & {
      /** And see what is of others. */
      readonly seesEverybody?: true
    },
  ) => Promise<boolean>
  /**
   * What of a run that was asked for a while ago its principal may not do any more: what was lost, in words; `undefined` if it may all
   * of it, or the record cannot be read. Absent where there are no keys.
   */
  readonly whyNotOn?: (
    asked: Pick<Submission, 'principal' | 'agent' | 'model'>,
  ) => Promise<{ readonly code: ErrorCode; readonly message: string } | undefined>
  /** Absent where nobody has a key. */
  readonly held?: HeldWork
  readonly timing: SessionTiming
  /** Absent where nothing is remembered beyond sessions. */
  readonly memory?: RunMemory
  /** Told before a session is forgotten; again if it could not be forgotten then. Never rejects. */
  readonly onSessionEnded?: ((ended: EndedSession) => Promise<void>) | undefined
  /** Takes what no run is booked with. */
  readonly deployment?: PlatformCount
  /** Absent if traces are not exported. */
  readonly telemetry?: Telemetry
}

/** How long a session waits for what. Milliseconds. */
export interface SessionTiming {
  /** While a run is live, or something is still to be carried, the object is woken this often; after a crash, that is how soon. */
  readonly recoverEveryMs: number
  /** How long a pause for an approval, an answer or a client's tool may take. */
  readonly pauseMs: number
  /** How long after its last run a session is kept that nobody named (docs/design.md section 11). */
  readonly keepStatelessMs: number
  /** The same for one that was named. */
  readonly keepNamedMs: number
  /** How long it is remembered that a call was cancelled before it came. */
  readonly keepGravesMs: number
  /** How long after a session was deleted its object looks whether anything is left. */
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
