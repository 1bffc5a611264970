/** Default time limit of a plugin call in either host. */
export const defaultTimeoutMs = 30_000
/** Largest answer of a plugin as JSON. Bytes. */
export const maxOutputBytes = 1024 * 1024
/** Time limit for all plugins that are asked at one hook point together. */
export const defaultHookTimeoutMs = 2_000
/** Time limit for importing and registering a plugin when it is installed or enabled: other changes wait meanwhile. */
export const inspectTimeoutMs = 3_000
/** Time limit of a plugin's scheduled work. Milliseconds. */
export const scheduleTimeoutMs = 120_000
