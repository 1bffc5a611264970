/** What every call of a plugin may take, in either host. */
export const defaultTimeoutMs = 30_000
/** So much may a plugin's answer have, as JSON. Bytes. */
export const maxOutputBytes = 1024 * 1024
/** For all plugins that are asked at one point together. */
export const defaultHookTimeoutMs = 2_000
/** To be imported and registered, when somebody installs or enables it: other changes wait for it. */
export const inspectTimeoutMs = 3_000
/** So long may a plugin work that the clock starts. Milliseconds. */
export const scheduleTimeoutMs = 120_000
