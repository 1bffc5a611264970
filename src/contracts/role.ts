/** The roles; each principal has one. */
export const roles = ['operator', 'author', 'user', 'auditor'] as const

/** What somebody may do here; which routes that is, is in one table of `http/`. */
export type Role = (typeof roles)[number]
