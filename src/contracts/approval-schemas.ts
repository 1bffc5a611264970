import * as z from 'zod'
import { approvalState, approverSchema } from './approval-words.ts'
import { labelSchema, sink } from './label.ts'
import { roles } from './role.ts'

// What is said and written of approvals: nothing is parsed with it, so the Worker carries none of it.

/** Who decided, for the record. */
export const decidedBySchema = z.object({
  principal: z.string(),
  role: z.enum(roles),
  via: z.enum(['session', 'inbox']),
})

/** How far a yes goes: this call, what is like it in this session, or a rule wherever its agent works for its principal. */
export const approvalScope = z.enum(['once', 'session', 'rule'])

/** Who asks for a call that waits. */
const askerSchema = z.object({
  principal: z.string(),
  agent: z.string(),
  session: z.string(),
  run: z.string(),
})

/** What is known of a call that waits for a yes when it begins to wait: it stays so, whatever the policy says later. */
export const approvalRequestSchema = z.object({
  id: z.string().describe('names it among all of the deployment'),
  approver: approverSchema.describe('whose yes counts; an operator’s always does'),
  asker: askerSchema.describe('who asks for the call'),
  reason: z
    .string()
    .describe(
      'why somebody is asked: `destructive`, `label`, `host_not_allowed`; `tool` or `run` if the tool or whoever began the run wants it',
    ),
  rule: z.string().describe('the line of the policy that says so; empty if it is not the policy'),
  sinks: z.array(sink).readonly().describe('what the call does outward'),
  isDestructive: z.boolean(),
  place: z
    .string()
    .optional()
    .describe(
      'where the call goes: the origin, if it is closed or of a server; else its one place',
    ),
  argsHash: z.string().describe('sha-256 of the arguments'),
  shape: z.string().describe('alike for calls that may be decided together'),
  outdatedRule: z
    .string()
    .optional()
    .describe(
      'a rule for this tool that holds no more: the tool has another definition than when it was made',
    ),
  mayCost: z
    .object({ tokens: z.number().optional(), costNanoUsd: z.number().optional() })
    .optional()
    .describe('the most that the call may spend, as its run stands; absent if nothing'),
})

/** What a free field of the arguments may be. */
export const jsonType = z.enum(['string', 'number', 'boolean', 'null', 'array', 'object'])

/**
 * Leave for calls that come later: of one principal's agent, to one version of a tool, with arguments of one shape, by
 * whoever has read nothing worse than what had been read then.
 */
export const approvalRuleSchema = z.object({
  id: z.string(),
  principal: z.string(),
  agent: z.string(),
  tool: z.string(),
  definitionHash: z.string(),
  /** Only in this session and below it; it ends with it. */
  session: z.string().optional(),
  free: z.record(z.string(), jsonType),
  /** sha-256 of what is fixed, of the types of what is not, and of what the call was asked about for and does. */
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
  /** Alike for calls of one tool whose arguments have the same fields and types, behind the same label. */
  shape: z.string(),
  label: labelSchema,
  reason: z.string(),
  rule: z.string(),
  atMs: z.number(),
  decidedBy: decidedBySchema.optional(),
  decidedAtMs: z.number().optional(),
})
