import type { Rights, Administrator } from '#contracts/keys.ts'
import type { DeploymentEvent } from '#contracts/event.ts'
import type { Role } from '#contracts/role.ts'

/** A key as everybody may see it. Neither the key nor its hash. */
export interface KeyView extends Rights {
  /** `key_` + 22 characters; not the key. */
  readonly id: string
  readonly principal: string
  /** The first characters of the key. */
  readonly hint: string
  /** What the orchestrator speaks as to whoever shows it, where nothing else is asked for. */
  readonly persona?: string
  readonly createdAtMs: number
  readonly expiresAtMs?: number
  readonly revokedAtMs?: number
  /** The key that took its place when it was rotated; absent once it was revoked. */
  readonly followedBy?: string
}

/** Whether a key opens anything now. */
type KeyState = 'active' | 'expired' | 'revoked'

/** A key from the moment `expiresAtMs` on is expired. Revoked wins. */
export function stateOf(
  key: Pick<KeyView, 'expiresAtMs' | 'revokedAtMs'>,
  nowMs: number,
): KeyState {
  if (key.revokedAtMs !== undefined) return 'revoked'
  return key.expiresAtMs !== undefined && key.expiresAtMs <= nowMs ? 'expired' : 'active'
}

/** A key on its way into the table. */
export interface NewKey extends Pick<
  KeyView,
  'id' | 'principal' | 'hint' | 'persona' | 'createdAtMs'
> {
  /** sha-256 of the key. */
  readonly hash: string
  readonly expiresAtMs?: number
}

/**
 * The tables of principals and keys. Each change lands with its event, both or neither, and changes nothing the second
 * time. Every verb may throw `request_unavailable`. Nothing is cached: what was revoked is so for the next question.
 */
export interface KeyStore {
  readonly findByHash: (hash: string) => Promise<KeyView | undefined>
  readonly find: (id: string) => Promise<KeyView | undefined>
  /** Newest first. */
  readonly list: (query: {
    readonly principal?: string
    readonly limit: number
  }) => Promise<readonly KeyView[]>
  /** Everybody who has, or had, a key, and the operator. */
  readonly principals: () => Promise<readonly string[]>
  readonly rightsOf: (principal: string) => Promise<Rights | undefined>
  /** With `rights` the principal is new too: throws `request_conflict` if it is there. */
  readonly add: (key: NewKey, event: DeploymentEvent, rights?: Rights) => Promise<void>
  /** Changes nothing of a key that was revoked before. One that was rotated has no successor any more. */
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
  /** Replaces what a principal may, for each of its keys; nothing if there is no such principal. */
  readonly change: (principal: string, rights: Rights, event: DeploymentEvent) => Promise<void>
}

/** What is to be different; `null` takes a list or a limit away, and what is absent stays. */
export interface RightsChange {
  readonly role?: Role
  readonly agents?: readonly string[] | null
  readonly models?: readonly string[] | null
  readonly tokens?: number | null
  readonly costNanoUsd?: number | null
}

/** A key that was just made. `secret` is the key: it is shown this once and is nowhere else. */
export interface IssuedKey {
  readonly key: KeyView
  readonly secret: string
}

/** When a key ends: at a moment, or so long after it was made. Not both. */
export type KeyEnd = { readonly expiresAtMs?: number } | { readonly expiresInMs?: number }

/**
 * What an operator does with keys. Throws `request_invalid`, `request_not_found`, `request_conflict` or
 * `request_unavailable`; every change is an event on the record.
 */
export interface KeyAdministration {
  readonly list: KeyStore['list']
  /** Another key of a principal that is there, or, with `rights`, the first one of a new principal. */
  readonly add: (
    request: {
      readonly principal: string
      readonly rights?: Rights
      readonly persona?: string
      readonly end?: KeyEnd
    },
    by: Administrator,
  ) => Promise<IssuedKey>
  /** Ends a key with the next request. The same again changes nothing. */
  readonly revoke: (id: string, by: Administrator) => Promise<KeyView>
  /**
   * Makes a new key for the same principal, with the same persona; the old one ends at once, or `graceMs` later. The new
   * one ends when the old one would have, unless `end` says otherwise.
   */
  readonly rotate: (
    id: string,
    request: { readonly graceMs?: number; readonly end?: KeyEnd },
    by: Administrator,
  ) => Promise<IssuedKey>
  /** Holds from the next request, and from the next run that reserves. */
  readonly change: (principal: string, change: RightsChange, by: Administrator) => Promise<Rights>
}
