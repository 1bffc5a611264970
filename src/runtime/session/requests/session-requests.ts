import * as z from 'zod'
import type { SessionCursor } from '#contracts/operations.ts'
import { runLimits, additive } from '#contracts/limits.ts'
import { digits, listLimit, wantedName } from '#contracts/query-fields.ts'

/** Limits of a session: the dimensions that add up over its runs. */
const sessionLimits = z.strictObject(additive)

/** A persona, or `none`: without any. Which there are is looked up. */
export const personaName = z.string().min(1).max(64)

const sessionId = z.string().regex(/^ses_[0-9A-Za-z]{22}$/, 'must be the id of a session')
const runId = z.string().regex(/^run_[0-9A-Za-z]{22}$/, 'must be the id of a run')

/** The states that a list of sessions may be asked for by: that of the last run. */
const states = [
  'queued',
  'running',
  'parked',
  'completed',
  'stopped',
  'failed',
  'cancelled',
] as const

const toCursor = (text: string): SessionCursor => ({
  sinceMs: Number(text.slice(0, text.indexOf('-'))),
  id: text.slice(text.indexOf('-') + 1),
})

/** `POST /api/sessions`. */
export const createSessionRequest = z.strictObject({
  agent: z.string().min(1).max(200).optional(),
  limits: sessionLimits.optional(),
  persona: personaName.exactOptional(),
})

/** `POST /api/sessions/:id`. */
export const changeSessionRequest = z.strictObject({
  persona: personaName
    .nullable()
    .describe('What the orchestrator speaks as; `null`: nothing of its own, so that of the key.'),
})

/** `GET /api/sessions`. */
export const sessionsQuery = z.strictObject({
  agent: wantedName.optional(),
  principal: wantedName.optional(),
  state: z.enum(states, `must be one of ${states.join(', ')}`).optional(),
  stateless: z.enum(['true', 'false'], 'must be true or false').optional(),
  limit: listLimit.optional(),
  after: z
    .string()
    .regex(/^\d{1,15}-ses_[0-9A-Za-z]{22}$/, 'must be the `next` of another page')
    .transform(toCursor)
    .optional(),
})

export type SessionFields = z.infer<typeof sessionsQuery>

const maxRunsListed = 20

const { agent, principal, state, after } = sessionsQuery.shape

/** `GET /api/runs`. */
export const runsQuery = z.strictObject({
  agent,
  principal,
  state,
  after,
  limit: digits(maxRunsListed)
    .refine((limit) => limit >= 1, 'must be 1 or more')
    .optional()
    .describe(`How many sessions at most, 1 to ${maxRunsListed}; ${maxRunsListed} if absent.`),
})

/** `GET /api/sessions/:id`. */
export const treeQuery = z.strictObject({
  before: runId.exactOptional(),
  limit: listLimit.exactOptional(),
  fromChild: sessionId.exactOptional(),
})

/** `GET /api/sessions/:id/transcript`. */
export const transcriptQuery = z.strictObject({ after: runId.exactOptional() })

/** `GET /api/sessions/:id/events`. */
export const eventsQuery = z.strictObject({
  run: z.string().optional(),
  follow: z.enum(['true', 'false', '1', '0']).optional(),
  cursor: z.string().optional(),
})

/** `POST /api/sessions/:id/compact`. */
export const compactRequest = z.strictObject({
  model: z.string().min(1).max(200).optional(),
  limits: runLimits.optional(),
})
