/**
 * What a session keeps for plugins and a sub-agent may share with its caller, each by the grant that opens it:
 * `storage` is that of scope `session`.
 */
export const sharedParts = ['workspace', 'memory', 'storage'] as const
export type SharedPart = (typeof sharedParts)[number]

/** Which session keeps a part in place of the one that works. What is not named is its own (N5). */
export type SharedFrom = Readonly<Partial<Record<SharedPart, string>>>
