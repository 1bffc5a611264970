import type { TrustTier } from '#contracts/manifest/manifest.ts'
import { isolateSettings } from './worker-code.ts'

/** Everything that may make two calls of a plugin differ. */
export interface IsolateIdentity {
  readonly plugin: string
  /** sha-256 of manifest, code and files. */
  readonly hash: string
  readonly tier: TrustTier
  readonly config: Readonly<Record<string, unknown>>
  /** Raised by the operator's changes: an isolate of an older epoch is never reached again. */
  readonly grantEpoch: number
  /** `isolateVersion` of our own modules. */
  readonly shimVersion: string
  readonly rootSession: string
  readonly principal: string
  /** The operator lets all principals share one isolate of this trusted plugin. */
  readonly isShared: boolean
}

/** The session tree and principal that an isolate serves. */
export type IsolateUse = Pick<IsolateIdentity, 'rootSession' | 'principal'>

/**
 * The id under which an isolate keeps code and globals: everything that may make two calls differ. Community code
 * gets an isolate for each session tree, so that it cannot carry data from one tree to another; other code one for
 * each principal, unless the operator has it shared (docs/security.md T7).
 */
export function toIsolateId(
  { tier, rootSession, principal, isShared, ...shared }: IsolateIdentity,
  sha256: (text: string) => string,
): string {
  const parts = [
    shared.plugin,
    shared.hash,
    tier,
    shared.grantEpoch,
    shared.shimVersion,
    JSON.stringify(shared.config),
    JSON.stringify(isolateSettings),
    tier === 'community' ? rootSession : '',
    tier === 'community' || isShared ? '' : principal,
  ]
  return sha256(JSON.stringify(parts))
}
