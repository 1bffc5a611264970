/** The roles; each principal has one. */
export const roles = ['operator', 'author', 'user', 'auditor'] as const

/** The rights of a principal; each route declares the roles that may call it. */
export type Role = (typeof roles)[number]
