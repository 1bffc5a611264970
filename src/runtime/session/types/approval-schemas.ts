import * as z from 'zod'
import { labelSchema } from '#contracts/label.ts'
import { decidedBySchema, askerSchema, approverSchema } from '#contracts/approval.ts'
import { approvalState } from './approval-words.ts'

/** The types that a free field of the arguments may have. */
export const jsonType = z.enum(['string', 'number', 'boolean', 'null', 'array', 'object'])

/**
 * An approval of later calls: of one principal's agent, to one version of a tool, with arguments of one shape, in a
 * context no worse than the one at the approval.
 */
export const approvalRuleSchema = z.object({
  id: z.string(),
  principal: z.string(),
  agent: z.string(),
  tool: z.string(),
  definitionHash: z.string(),
  /** The rule covers this session and its children only, and ends with the session. */
  session: z.string().optional(),
  free: z.record(z.string(), jsonType),
  /** sha-256 of the fixed values, of the types of the free fields, and of the reason, the sinks and the place. */
  shape: z.string(),
  label: labelSchema,
  decidedBy: decidedBySchema,
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
})

/** An entry of the inbox. The session has the truth of it, and the arguments. */
export const approvalEntrySchema = z.object({
  id: z.string(),
  state: approvalState,
  ...askerSchema.shape,
  call: z.string(),
  tool: z.string(),
  approver: approverSchema,
  argsHash: z.string(),
  /** The same for calls of one tool whose arguments have the same fields and types, in contexts with the same label. */
  shape: z.string(),
  label: labelSchema,
  reason: z.string(),
  rule: z.string(),
  atMs: z.number(),
  decidedBy: decidedBySchema.optional(),
  decidedAtMs: z.number().optional(),
})
