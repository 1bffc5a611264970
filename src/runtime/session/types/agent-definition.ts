/**
 * A need that an operator must have approved. `owner`: the agent's owner may approve it, since another principal wrote
 * it.
 */
export interface AgentNeed {
  readonly kind: 'tool' | 'limit' | 'share' | 'memory' | 'skills' | 'owner'
  /** `http__get`, `time_budget_ms`, `role user: run`, `schedule`. */
  readonly what: string
}
