/** So many rows a page has where a list query names no limit. */
export const defaultListLimit = 100

/** A day in milliseconds. */
export const dayMs = 86_400_000
/** The longest time that a figure is asked for at once: 31 days. */
export const maxWindowMs = 31 * dayMs
