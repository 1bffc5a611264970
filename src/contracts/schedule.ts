/** Whose object keeps it, tagged. */
export type ScheduleKeeper = `principal:${string}` | `plugin:${string}`
