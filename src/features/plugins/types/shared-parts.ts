import type { SharedFrom, SharedPart } from '#contracts/shared-parts.ts'

/** A session with what it shares. */
export interface Sharing {
  readonly session: string
  readonly shared?: SharedFrom | undefined
}

/** The session that keeps a part of what this one has. */
export const keeperOf = (part: SharedPart, { session, shared }: Sharing): string =>
  shared?.[part] ?? session
