import type { DeploymentEvent } from '#contracts/event.ts'
import type { Administrator } from '#contracts/keys.ts'

/** What a secret may be called, in manifests and everywhere else. */
export const secretNameForm = /^[A-Z][A-Z0-9_]{0,63}$/

/** A secret as everybody may see it: never its value, sealed or not. */
export interface SecretView {
  readonly name: string
  /** Of the key it is sealed under: the same for the same key, and says nothing about it. */
  readonly keyId: string
  readonly setBy: string
  readonly setAtMs: number
}

/** A row of the table. */
export interface SealedSecret extends SecretView {
  readonly sealed: string
}

/** The same value under another key: lands only where the row still holds `was`. */
export interface Resealed extends Pick<SealedSecret, 'name' | 'sealed' | 'keyId'> {
  readonly was: string
}

/** The table of secrets. Each change lands with its event, both or neither. Every verb may throw `request_unavailable`. */
export interface SecretStore {
  /** By name. */
  readonly list: () => Promise<readonly SealedSecret[]>
  /** Those of these names that there are. */
  readonly find: (names: readonly string[]) => Promise<readonly SealedSecret[]>
  readonly put: (secret: SealedSecret, event: DeploymentEvent) => Promise<void>
  /** Nothing, and no event, if there is none. */
  readonly remove: (name: string, event: DeploymentEvent) => Promise<void>
  readonly reseal: (secrets: readonly Resealed[], event: DeploymentEvent) => Promise<void>
}

/**
 * The values of these secrets; one that is not set is not in the answer. Asked anew at each use: what the operator sets
 * holds at once. Throws `config_missing` or `config_invalid` that says what to do, or `request_unavailable`.
 */
export type ReadSecrets = (names: readonly string[]) => Promise<ReadonlyMap<string, string>>

/** What a rotation did. `failed` are those that no key opens, each with what to do. */
export interface Rotation {
  readonly rotated: number
  /** Under the new key before. */
  readonly current: number
  readonly failed: readonly { readonly name: string; readonly message: string }[]
}

/**
 * What an operator does with secrets. Throws `request_invalid`, `request_not_found`, `request_unavailable`, or
 * `config_missing` and `config_invalid` if there is no key to seal under; every change is an event without a value.
 */
export interface SecretAdministration {
  readonly list: () => Promise<readonly SecretView[]>
  /** Puts a value in, over an old one if there is one. */
  readonly set: (
    secret: { readonly name: string; readonly value: string },
    by: Administrator,
  ) => Promise<SecretView>
  readonly remove: (name: string, by: Administrator) => Promise<void>
  /** Seals all of them under the current key. The same again changes nothing. */
  readonly rotate: (by: Administrator) => Promise<Rotation>
}
