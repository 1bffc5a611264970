import type { DeploymentEvent } from '#contracts/event.ts'
import type { Administrator } from '#contracts/keys.ts'

/** A public key whose signatures make a plugin `trusted`. */
export interface TrustedKey {
  /** `trust_` + 22 characters of the key's sha-256: the same key has the same id everywhere. */
  readonly id: string
  /** The operator's name for it; unique. */
  readonly name: string
  /** Ed25519, its 32 bytes as base64. */
  readonly publicKey: string
  readonly addedBy: string
  readonly addedAtMs: number
}

/**
 * The table of accepted keys. Each change lands with its event, both or neither. Every verb may throw
 * `request_unavailable`.
 */
export interface TrustStore {
  /** All keys, by name. */
  readonly list: () => Promise<readonly TrustedKey[]>
  /** Throws `request_conflict` if the name or the key exists. */
  readonly add: (key: TrustedKey, event: DeploymentEvent) => Promise<void>
  readonly remove: (id: string, event: DeploymentEvent) => Promise<void>
}

/** The operator's changes of accepted keys; every change is an event on the record. */
export interface TrustAdministration {
  readonly list: TrustStore['list']
  /** Throws `request_invalid` for a key that is none, `request_conflict`. */
  readonly add: (
    key: { readonly name: string; readonly publicKey: string },
    by: Administrator,
  ) => Promise<TrustedKey>
  /**
   * Removes a key by name or id. Rows that it signed still name it until the Catalog gets the change `distrust`. Throws
   * `request_not_found`.
   */
  readonly remove: (name: string, by: Administrator) => Promise<TrustedKey>
}
