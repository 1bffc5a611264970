import * as z from 'zod'
import type { Rights, Administrator, Role } from '#contracts/keys.ts'
import type { DeploymentEvent } from '#contracts/event.ts'

/** The name of a principal: the owner of keys, sessions and limits. A publisher's key is named by the same rule. */
export const principalName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._@+-]{0,63}$/,
    'must be 1 to 64 lowercase letters, digits or . _ @ + -, and begin with a letter or digit',
  )

/** A key as lists show it: neither the key nor its hash. */
export interface KeyView extends Rights {
  /** `key_` + 22 characters; not the key. */
  readonly id: string
  readonly principal: string
  /** The first characters of the key. */
  readonly hint: string
  /** The persona of the orchestrator for callers with this key, unless the request names another. */
  readonly persona?: string
  readonly createdAtMs: number
  readonly expiresAtMs?: number
  readonly revokedAtMs?: number
  /** The successor after a rotation; absent once the key is revoked. */
  readonly followedBy?: string
}

/** Whether a key opens anything now. */
type KeyState = 'active' | 'expired' | 'revoked'

/** A key is expired from `expiresAtMs` on. A revoked key is never called expired. */
export function stateOf(
  key: Pick<KeyView, 'expiresAtMs' | 'revokedAtMs'>,
  nowMs: number,
): KeyState {
  if (key.revokedAtMs !== undefined) return 'revoked'
  return key.expiresAtMs !== undefined && key.expiresAtMs <= nowMs ? 'expired' : 'active'
}

/** A key to be added to the table. */
export interface NewKey extends Pick<
  KeyView,
  'id' | 'principal' | 'hint' | 'persona' | 'createdAtMs'
> {
  /** sha-256 of the key. */
  readonly hash: string
  readonly expiresAtMs?: number
}

/**
 * The tables of principals and keys. Each change lands with its event, both or neither, and a repeated change does
 * nothing. Every verb may throw `request_unavailable`. Nothing is cached, so a revocation holds from the next lookup
 * on.
 */
export interface KeyStore {
  readonly findByHash: (hash: string) => Promise<KeyView | undefined>
  readonly find: (id: string) => Promise<KeyView | undefined>
  /** Newest first. */
  readonly list: (query: {
    readonly principal?: string
    readonly limit: number
  }) => Promise<readonly KeyView[]>
  /** All principals that have, or had, a key, and the operator. */
  readonly principals: () => Promise<readonly string[]>
  readonly rightsOf: (principal: string) => Promise<Rights | undefined>
  /** With `rights` the principal is new too; throws `request_conflict` if the principal exists. */
  readonly add: (key: NewKey, event: DeploymentEvent, rights?: Rights) => Promise<void>
  /** Changes nothing of a revoked key. A rotated key loses its successor. */
  readonly revoke: (id: string, event: DeploymentEvent) => Promise<void>
  /**
   * Adds a key for the principal of `old`, which ends at `endsAtMs`. Changes nothing if `old` has ended already: the
   * new key is not there then.
   */
  readonly rotate: (
    old: { readonly id: string; readonly endsAtMs: number },
    key: NewKey,
    event: DeploymentEvent,
  ) => Promise<void>
  /** Replaces a principal's rights, for each of its keys; does nothing if there is no such principal. */
  readonly change: (principal: string, rights: Rights, event: DeploymentEvent) => Promise<void>
}

/** The fields to change; `null` removes a list or a limit, and an absent field stays. */
export interface RightsChange {
  readonly role?: Role
  readonly agents?: readonly string[] | null
  readonly models?: readonly string[] | null
  readonly tokens?: number | null
  readonly costNanoUsd?: number | null
}

/** A new key. `secret` is the key itself: shown this once and stored nowhere. */
export interface IssuedKey {
  readonly key: KeyView
  readonly secret: string
}

/** When a key ends: at a moment, or so long after its making. Not both. */
export type KeyEnd = { readonly expiresAtMs?: number } | { readonly expiresInMs?: number }

/**
 * The operator's administration of keys. Throws `request_invalid`, `request_not_found`, `request_conflict` or
 * `request_unavailable`; every change is an event on the record.
 */
export interface KeyAdministration {
  readonly list: KeyStore['list']
  /** Another key of an existing principal, or, with `rights`, the first key of a new one. */
  readonly add: (
    request: {
      readonly principal: string
      readonly rights?: Rights
      readonly persona?: string
      readonly end?: KeyEnd
    },
    by: Administrator,
  ) => Promise<IssuedKey>
  /** Ends a key from the next request on. A repeated call changes nothing. */
  readonly revoke: (id: string, by: Administrator) => Promise<KeyView>
  /**
   * Makes a new key for the same principal, with the same persona; the old one ends at once, or `graceMs` later. The
   * new
   * one ends when the old one would have, unless `end` says otherwise.
   */
  readonly rotate: (
    id: string,
    request: { readonly graceMs?: number; readonly end?: KeyEnd },
    by: Administrator,
  ) => Promise<IssuedKey>
  /** Applies from the next request, and from the next run that reserves. */
  readonly change: (principal: string, change: RightsChange, by: Administrator) => Promise<Rights>
}
