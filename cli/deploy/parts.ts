// The values that the steps of a deployment hand on to each other.
import type { Env } from '../command.ts'
import type { Keys } from './secrets.ts'
import type { Config, TenantPlan } from './tenant.ts'
import type { Wrangler } from './wrangler.ts'

/** Facts that steps find for later steps. */
export interface DeployState {
  account?: string
  /** By binding. */
  ids: Record<string, string>
  /** Where the Worker answers. */
  url?: string
  /** It had no operator key before. */
  isNew?: boolean
  warnings: readonly string[]
}

export interface Parts {
  readonly config: Config
  readonly plan: TenantPlan
  readonly keys: Keys
  /** Values that no output may show. */
  readonly secrets: Set<string>
  readonly wrangler: Wrangler
  readonly state: DeployState
  readonly env: Env
  readonly waitMs: number
  /** Secrets to make anew. */
  readonly rotate: readonly string[]
  readonly say: (line: string) => unknown
}
