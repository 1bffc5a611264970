/**
 * What a session keeps for plugins and a sub-agent may share with its caller, each by the grant that opens it:
 * `storage` is that of scope `session`.
 */
export const sharedParts = ['workspace', 'memory', 'storage'] as const
export type SharedPart = (typeof sharedParts)[number]

/** The session whose storage an agent uses, for each shared part. A part that is left out is the agent's own (N5). */
export type SharedFrom = Readonly<Partial<Record<SharedPart, string>>>
