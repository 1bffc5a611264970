import type { Submission } from './submission.ts'

/** Work of a session in a principal's name, by what it was asked with. Plain data: it crosses Durable Object RPC. */
export interface HeldWorkRequest {
  readonly principal: string
  readonly session: string
  /** Ids of the key and of the sign-in. */
  readonly credentials: readonly string[]
  /** Place of the newest run in its session: what is said of an earlier one is late and changes nothing. */
  readonly upTo: number
}

/** A key or a sign-in under which nothing may go on. */
export interface EndedCredential {
  readonly id: string
  readonly reason: 'revoked' | 'expired'
}

/** Whether what was begun with a key or a sign-in may go on. */
export type CredentialState =
  | {
      readonly state: 'active'
      /** When a key ends by itself, epoch milliseconds. */
      readonly endsAtMs?: number
    }
  | { readonly state: 'ended'; readonly reason: EndedCredential['reason'] }

/**
 * Where a principal's work is known while it goes on: whose key or sign-in is taken back has it cancelled, within a
 * second, or as soon as its session can be reached. Each verb may come any number of times. May throw
 * `request_unavailable`.
 * @see docs/decisions/0070-what-ends-with-a-key.md
 */
export interface HeldWork {
  /** Before or while the run works. @returns What it was asked with, if that has ended: then it is to be cancelled. */
  readonly hold: (request: HeldWorkRequest) => Promise<EndedCredential | undefined>
  /** Nothing of the session that was begun with these goes on. */
  readonly release: (request: HeldWorkRequest) => Promise<void>
}

/**
 * By what a run can be ended from outside: nothing for whoever has the operator key. What a call waits for ends with
 * the run above it.
 */
export function credentialsOf({
  key,
  grant,
  lineage,
}: Pick<Submission, 'key' | 'grant' | 'lineage'>): readonly string[] {
  if (lineage && !lineage.isBackground) return []
  return [key, grant].filter((id) => id !== undefined)
}

/** Why a run was cancelled, as its result and the record say it. */
export function whyEnded({ id, reason }: EndedCredential): string {
  const what = id.startsWith('grant_') ? 'sign-in' : 'key'
  return reason === 'expired'
    ? `expired: the ${what} ${id}, with which it was asked for, has come to its end.`
    : `revoked: the ${what} ${id}, with which it was asked for, was taken back.`
}
