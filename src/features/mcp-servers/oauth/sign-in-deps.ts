import type { DeploymentEventData } from '#contracts/event.ts'
import type { McpServerConfig } from '#runtime/catalog/types/mcp.ts'
import type { ReadSecrets } from '#features/access/types/secrets.ts'
import type { ConnectDeps } from '../connection.ts'
import type { CheckUrl } from '#contracts/outbound.ts'
import type { SealedStore } from './sealed-store.ts'

/** So long may an authorization server take for one answer. */
export const timeoutMs = 30_000

/** The dependencies of a sign-in. */
export interface SignInDeps {
  readonly storeOf: (config: McpServerConfig) => SealedStore
  readonly connectDeps: (config: McpServerConfig) => Omit<ConnectDeps, 'answer' | 'provider'>
  readonly checkUrl: CheckUrl
  readonly readSecrets: ReadSecrets
  readonly nowMs: () => number
  /** Receives each secret value before its first use, so that replies can be redacted. */
  readonly learn: (value: string) => void
  /**
   * Called when a sign-in succeeded, or when the browser's parameters were refused. Never throws.
   * @param principal The principal that signed in for itself; absent for the deployment's sign-in.
   */
  readonly onSignedIn: (
    what: DeploymentEventData<'mcp_signed_in'> | DeploymentEventData<'mcp_sign_in_refused'>,
    principal?: string,
  ) => void
  /** A text that cannot be guessed. */
  readonly secret: () => string
  readonly clientMetadataUrl?: string
}
