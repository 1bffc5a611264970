import * as z from 'zod'

/** A persona, or `none`: without any. Which there are is looked up. */
export const personaName = z.string().min(1).max(64)
