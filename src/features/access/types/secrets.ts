import type { DeploymentEvent } from '#contracts/event.ts'
import type { Administrator } from '#contracts/keys.ts'

/** The form of a secret's name, in manifests and everywhere else. */
export const secretNameForm = /^[A-Z][A-Z0-9_]{0,63}$/

/** A secret as lists show it: never its value, sealed or not. */
export interface SecretView {
  readonly name: string
  /** Id of the key the value is sealed under; reveals nothing of the key. */
  readonly keyId: string
  readonly setBy: string
  readonly setAtMs: number
}

/** A row of the table. */
export interface SealedSecret extends SecretView {
  readonly sealed: string
}

/** The same value under another key. Written only if the row still holds `was`. */
export interface Resealed extends Pick<SealedSecret, 'name' | 'sealed' | 'keyId'> {
  readonly was: string
}

/**
 * The table of secrets. Each change lands with its event, both or neither. Every verb may throw `request_unavailable`.
 */
export interface SecretStore {
  /** By name. */
  readonly list: () => Promise<readonly SealedSecret[]>
  /** The secrets with these names, as far as they exist. */
  readonly find: (names: readonly string[]) => Promise<readonly SealedSecret[]>
  readonly put: (secret: SealedSecret, event: DeploymentEvent) => Promise<void>
  /** Does nothing, and records no event, if there is no such secret. */
  readonly remove: (name: string, event: DeploymentEvent) => Promise<void>
  readonly reseal: (secrets: readonly Resealed[], event: DeploymentEvent) => Promise<void>
}

/**
 * The values of these secrets, without those that are not set. Read anew at each use, so that a change by the
 * operator holds at once. Throws `config_missing` or `config_invalid` with the remedy, or `request_unavailable`.
 */
export type ReadSecrets = (names: readonly string[]) => Promise<ReadonlyMap<string, string>>

/** The result of a rotation. `failed` lists secrets that no key opens, each with the remedy. */
export interface Rotation {
  readonly rotated: number
  /** Secrets that were under the new key before. */
  readonly current: number
  readonly failed: readonly { readonly name: string; readonly message: string }[]
}

/**
 * The operator's administration of secrets. Throws `request_invalid`, `request_not_found`, `request_unavailable`, or
 * `config_missing` and `config_invalid` if there is no key to seal under; every change is an event without a value.
 */
export interface SecretAdministration {
  readonly list: () => Promise<readonly SecretView[]>
  /** Sets a value, and replaces an earlier one. */
  readonly set: (
    secret: { readonly name: string; readonly value: string },
    by: Administrator,
  ) => Promise<SecretView>
  readonly remove: (name: string, by: Administrator) => Promise<void>
  /** Seals all secrets under the current key. A repeated call changes nothing. */
  readonly rotate: (by: Administrator) => Promise<Rotation>
}
