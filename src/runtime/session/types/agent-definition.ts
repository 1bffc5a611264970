/** What an operator has to have said yes to; `owner`: or its owner, since somebody else wrote it. */
export interface AgentNeed {
  readonly kind: 'tool' | 'limit' | 'share' | 'memory' | 'skills' | 'owner'
  /** `http__get`, `time_budget_ms`, `role user: run`, `schedule`. */
  readonly what: string
}
