/**
 * Storage of a session that a sub-agent may share with its caller, each part by the grant that opens it: `storage` is
 * the plugin storage of scope `session`.
 */
export const sharedParts = ['workspace', 'memory', 'storage'] as const
export type SharedPart = (typeof sharedParts)[number]

/** The session whose storage an agent uses, for each shared part. A part that is left out is the agent's own (N5). */
export type SharedFrom = Readonly<Partial<Record<SharedPart, string>>>
