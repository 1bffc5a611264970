import type { AgentDefinition } from './manifest/agent-definition.ts'

/** An agent that may run, in the text that does. */
export interface RunnableAgent {
  readonly definition: Omit<AgentDefinition, 'acl' | 'schedule'>
  readonly version: number
  readonly hash: string
  /** Full names of what it may use that destroys or goes out. */
  readonly granted: readonly string[]
}

/** An agent that lives for one request: its session deletes itself `keepMs` after it began. */
export interface OnDemandAgent extends RunnableAgent {
  readonly keepMs: number
}
