import type { SharedFrom, SharedPart } from '#contracts/manifest/agent-manifest.ts'

/** A session, and the session whose parts it shares. */
export interface Sharing {
  readonly session: string
  readonly shared?: SharedFrom | undefined
}

/** The session that owns a shared part. */
export const keeperOf = (part: SharedPart, { session, shared }: Sharing): string =>
  shared?.[part] ?? session
