import type { Submission } from './submission.ts'

/** Work of a session under a principal's credentials. Plain data: it crosses Durable Object RPC. */
export interface HeldWorkRequest {
  readonly principal: string
  readonly session: string
  /** Ids of the key and of the sign-in. */
  readonly credentials: readonly string[]
  /** The place of the newest run in its session. A request about an earlier run is late and changes nothing. */
  readonly upTo: number
}

/** A key or a sign-in that has ended: its work has to stop. */
export interface EndedCredential {
  readonly id: string
  readonly reason: 'revoked' | 'expired'
}

/** Whether work that began with a key or a sign-in may go on. */
export type CredentialState =
  | {
      readonly state: 'active'
      /** When a key ends by itself, epoch milliseconds. */
      readonly endsAtMs?: number
    }
  | { readonly state: 'ended'; readonly reason: EndedCredential['reason'] }

/**
 * The register of work by credential: revoking a key or a sign-in cancels its work within a second, or as soon as its
 * session can be reached. Each verb is idempotent. May throw `request_unavailable`.
 * @see docs/decisions/0070-what-ends-with-a-key.md
 */
export interface HeldWork {
  /**
   * Registers work before or while the run works. @returns The credential that has ended, if any: the run is then
   * cancelled.
   */
  readonly hold: (request: HeldWorkRequest) => Promise<EndedCredential | undefined>
  /** Removes the entry once no work of the session uses these credentials. */
  readonly release: (request: HeldWorkRequest) => Promise<void>
}

/**
 * The credentials whose end cancels a run; none for a run of the operator key. A run that its parent waits for ends
 * with the parent.
 */
export function credentialsOf({
  key,
  grant,
  lineage,
}: Pick<Submission, 'key' | 'grant' | 'lineage'>): readonly string[] {
  if (lineage && !lineage.isBackground) return []
  return [key, grant].filter((id) => id !== undefined)
}

/** The reason of a cancelled run, as its result and the record have it. */
export function whyEnded({ id, reason }: EndedCredential): string {
  const what = id.startsWith('grant_') ? 'sign-in' : 'key'
  return reason === 'expired'
    ? `expired: the ${what} ${id}, with which it was asked for, has come to its end.`
    : `revoked: the ${what} ${id}, with which it was asked for, was taken back.`
}
