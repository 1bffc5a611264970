import type { AgentDescriptor, AgentSpec } from './agent.ts'
import type { Limits } from './lease.ts'
import type { Kernel } from './kernel.ts'
import type { ModelParameters } from './model.ts'
import type { Approvals, OutputStore, Policy, RateLimiter, ToolHooks } from './policy.ts'
import type { AuditSink, SessionGateway } from './session.ts'
import type { Sources } from './sources.ts'
import type { SchemaValidator, Toolset } from './tool.ts'

/** An agent with its tools, made ready for one session. */
export interface ReadyAgent {
  readonly spec: AgentSpec
  readonly toolset: Toolset
}

/** What is installed and enabled, as a session sees it. */
export interface AgentDirectory {
  /** `undefined` if there is no such agent. */
  readonly load: (agent: string, overrides: AgentOverrides) => Promise<ReadyAgent | undefined>
  readonly list: () => readonly AgentDescriptor[]
}

export interface AgentOverrides {
  readonly model?: string
  readonly parameters?: ModelParameters
  readonly lease?: Limits
  readonly clientInstructions?: string
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

/** Everything a session needs to run an agent. Built once from bindings; holds no session's state. */
export interface SessionRuntime extends Sources {
  readonly agents: AgentDirectory
  readonly kernel: Kernel
  readonly sessions: SessionGateway
  readonly audit: AuditSink
}
