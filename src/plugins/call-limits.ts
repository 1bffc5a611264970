/** What every call of a plugin may take, in either host. */
export const defaultTimeoutMs = 30_000
export const maxOutputBytes = 1024 * 1024
