// The roles of routes. A route names one of these lists: `npm run generate` takes the name over into the table.

export const anyone = 'anyone'
export const operators = ['operator'] as const
export const readers = ['operator', 'auditor'] as const
/** An author brings plugins, and enables none. */
export const installers = ['operator', 'author'] as const
export const pluginReaders = ['operator', 'author', 'auditor'] as const
/** Callers who talk to agents. */
export const talkers = ['operator', 'author', 'user'] as const
/** Callers who read sessions: talkers their own, operators and auditors those of every principal. */
export const sessionReaders = [...talkers, 'auditor'] as const
/** Every role: a caller with any key. */
export const keyHolders = [...talkers, 'auditor'] as const
