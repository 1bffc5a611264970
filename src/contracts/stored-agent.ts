import type { AgentDefinition } from './manifest/agent-definition.ts'

/** An agent that may run, in the text that does. */
export interface RunnableAgent {
  readonly definition: Omit<AgentDefinition, 'acl' | 'schedule'>
  readonly version: number
  readonly hash: string
  /** Full names of what it may use that destroys or goes out. */
  readonly granted: readonly string[]
}

/** One that lives for one request, and where: its session deletes itself so long after it was begun. */
export interface OnDemandAgent extends RunnableAgent {
  readonly keepMs: number
}
