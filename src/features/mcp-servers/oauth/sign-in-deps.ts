import type { DeploymentEventData } from '#contracts/event.ts'
import type { McpServerConfig } from '#runtime/catalog/types/mcp.ts'
import type { ReadSecrets } from '#features/access/types/secrets.ts'
import type { ConnectDeps } from '../connection.ts'
import type { CheckUrl } from '#contracts/outbound.ts'
import type { SealedStore } from './sealed-store.ts'

/** So long may an authorization server take for one answer. */
export const timeoutMs = 30_000

/** What a sign-in keeps, reaches and tells. */
export interface SignInDeps {
  readonly storeOf: (config: McpServerConfig) => SealedStore
  readonly connectDeps: (config: McpServerConfig) => Omit<ConnectDeps, 'answer' | 'provider'>
  readonly checkUrl: CheckUrl
  readonly readSecrets: ReadSecrets
  readonly nowMs: () => number
  /** Told each value that nobody may read, before it is used. */
  readonly learn: (value: string) => void
  /**
   * Told that somebody signed in, or that what the browser brought back was refused. Never throws.
   * @param principal Who signed in for itself; the deployment did if absent.
   */
  readonly onSignedIn: (
    what: DeploymentEventData<'mcp_signed_in'> | DeploymentEventData<'mcp_sign_in_refused'>,
    principal?: string,
  ) => void
  /** A text that nobody can guess. */
  readonly secret: () => string
  readonly clientMetadataUrl?: string
}
