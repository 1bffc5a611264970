import * as z from 'zod'
import { sink } from './label.ts'
import { roles } from './keys.ts'

// Words of approvals that requests and policies share.
/** Whose approval counts: the session's owner, or any principal with this role. An operator's counts always. */
export const approverSchema = z.enum(['owner', 'author', 'operator'])
export type Approver = z.infer<typeof approverSchema>

// Schemas of approvals for types and docs alone: the Worker parses nothing with them, and its bundle has none of it.

/** The principal that decided, for the record. */
export const decidedBySchema = z.object({
  principal: z.string(),
  role: z.enum(roles),
  via: z.enum(['session', 'inbox']),
})

/**
 * How far an approval goes: this call, similar calls in this session, or a rule wherever its agent works for its
 * principal.
 */
export const approvalScope = z.enum(['once', 'session', 'rule'])

/** The run that made the waiting call. */
export const askerSchema = z.object({
  principal: z.string(),
  agent: z.string(),
  session: z.string(),
  run: z.string(),
})

/**
 * The facts about a waiting call at the moment it begins to wait: they stay so, although the policy may change later.
 */
export const approvalRequestSchema = z.object({
  id: z.string().describe('names it among all of the deployment'),
  approver: approverSchema.describe('whose yes counts; an operator’s always does'),
  asker: askerSchema.describe('who asks for the call'),
  reason: z
    .string()
    .describe(
      'the reason for the question: `destructive`, `label`, `host_not_allowed`; `tool` or ' +
        '`run` if the tool or whoever began the run wants it',
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

export type ApprovalRequest = Readonly<z.infer<typeof approvalRequestSchema>>
