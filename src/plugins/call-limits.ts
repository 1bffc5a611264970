/** What every call of a plugin may take, in either host. */
export const defaultTimeoutMs = 30_000
export const maxOutputBytes = 1024 * 1024
/** For all plugins that are asked at one point together. */
export const defaultHookTimeoutMs = 2_000
/** To be imported and registered, when somebody installs or enables it: other changes wait for it. */
export const inspectTimeoutMs = 3_000
export const scheduleTimeoutMs = 120_000
