/**
 * What a session keeps for plugins and a sub-agent may share with its caller, each by the grant that opens it:
 * `storage` is that of scope `session`.
 */
export const sharedParts = ['workspace', 'memory', 'storage'] as const
export type SharedPart = (typeof sharedParts)[number]

/** Which session keeps a part in place of the one that works. What is not named is its own (N5). */
export type SharedFrom = Readonly<Partial<Record<SharedPart, string>>>

/** A session with what it shares. */
interface Sharing {
  readonly session: string
  readonly shared?: SharedFrom | undefined
}

/** The session that keeps a part of what this one has. */
export const keeperOf = (part: SharedPart, { session, shared }: Sharing): string =>
  shared?.[part] ?? session

/** What a child has of its caller: what its manifest declares, where the caller itself has it, so never more. */
export const shareWith = (parts: readonly SharedPart[], caller: Sharing): SharedFrom =>
  Object.fromEntries(parts.map((part) => [part, keeperOf(part, caller)]))
