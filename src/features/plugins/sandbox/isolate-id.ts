import type { TrustTier } from '#contracts/manifest/manifest.ts'
import { isolateSettings } from './worker-code.ts'

/** All that may make two calls of a plugin differ. */
export interface IsolateIdentity {
  readonly plugin: string
  /** sha-256 of manifest, code and files. */
  readonly hash: string
  readonly tier: TrustTier
  readonly config: Readonly<Record<string, unknown>>
  /** Counted up by the operator: what ran under an older grant is never reached again. */
  readonly grantEpoch: number
  /** `isolateVersion` of our own modules. */
  readonly shimVersion: string
  readonly rootSession: string
  readonly principal: string
  /** The operator has all principals share one of a plugin that is trusted. */
  readonly isShared: boolean
}

/** For whom an isolate is. */
export type IsolateUse = Pick<IsolateIdentity, 'rootSession' | 'principal'>

/**
 * The id under which an isolate keeps code and globals: everything that may make two calls differ. Code that nobody
 * vouches for gets one per session tree, so that it cannot carry anything from one to the other; other code one per
 * principal, unless the operator has it shared (docs/security.md T7).
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
