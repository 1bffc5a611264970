import * as z from 'zod'
import { roles, type Role } from './role.ts'
import { labelSchema, sink, type Label } from './label.ts'
import type { JsonObject } from './json.ts'

/** Whose yes counts: whoever the session is of, or anybody whose key has this role. An operator's counts always. */
export const approverSchema = z.enum(['owner', 'author', 'operator'])
export type Approver = z.infer<typeof approverSchema>

/** Somebody who decides. What a token was not given the scope for has been refused before. */
export interface Decider {
  readonly principal: string
  readonly role: Role
  /** Where it was said: in the session, or over the inbox. */
  readonly via: 'session' | 'inbox'
}

/** Who decided, for the record. */
export const decidedBySchema = z.object({
  principal: z.string(),
  role: z.enum(roles),
  via: z.enum(['session', 'inbox']),
})

/** How far a yes goes: this call, what is like it in this session, or a rule wherever its agent works for its principal. */
export const approvalScope = z.enum(['once', 'session', 'rule'])
export type ApprovalScope = z.infer<typeof approvalScope>

/** The reach of a rule, of one session or of all. */
export const scopeOf = ({ session }: Pick<ApprovalRule, 'session'>): ApprovalScope =>
  session === undefined ? 'rule' : 'session'

/** Whether this one's yes counts. `owner` is whose session it is. */
export function mayApprove(
  approver: Approver,
  { principal, role }: Pick<Decider, 'principal' | 'role'>,
  owner: string,
): boolean {
  if (role === 'operator') return true
  return approver === 'owner' ? principal === owner : role === approver
}

/** Who could, in words for somebody who may not. */
export const approverText = (approver: Approver): string =>
  approver === 'owner'
    ? 'whoever the session is of, or an operator'
    : approver === 'operator'
      ? 'an operator'
      : `somebody with the role ${approver}, or an operator`

/** Who asks for a call that waits. */
export const askerSchema = z.object({
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
export type ApprovalRequest = Readonly<z.infer<typeof approvalRequestSchema>>

/** Fields of the arguments that may be anything of this type; all others are as they were approved. */
export type FreeFields = Readonly<Record<string, JsonType>>
const jsonType = z.enum(['string', 'number', 'boolean', 'null', 'array', 'object'])
type JsonType = z.infer<typeof jsonType>

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
export type ApprovalRule = Readonly<z.infer<typeof approvalRuleSchema>>

/** Why somebody is asked about a call, what it does outward, and where. */
export type AskedFor = Pick<ApprovalRequest, 'reason' | 'sinks' | 'place' | 'isDestructive'>

/** A call that somebody would be asked about. */
export interface AskedCall {
  readonly principal: string
  readonly agent: string
  readonly tool: string
  readonly definitionHash?: string | undefined
  readonly rootSession: string
  readonly input: JsonObject
  readonly label?: Label | undefined
}

/** What became of a call that waited for a yes. `ended`: its run did, before anybody had decided. */
export const approvalState = z.enum(['open', 'approved', 'denied', 'expired', 'ended'])

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
export type ApprovalEntry = Readonly<z.infer<typeof approvalEntrySchema>>

/** Which entries are asked for; what is left out does not narrow. */
export interface ApprovalQuery {
  readonly state?: ApprovalEntry['state']
  readonly approver?: Approver
  readonly agent?: string
  readonly principal?: string
  readonly tool?: string
  readonly session?: string
  readonly shape?: string
  readonly limit: number
  readonly after?: { readonly atMs: number; readonly id: string }
}

/** Calls of all sessions that wait or waited for a yes, as the record has them. May throw `request_unavailable`. */
export interface ApprovalInbox {
  /** Newest first. `next` is present if there may be more. */
  readonly list: (query: ApprovalQuery) => Promise<{
    readonly entries: readonly ApprovalEntry[]
    readonly next?: { readonly atMs: number; readonly id: string }
  }>
  readonly find: (id: string) => Promise<ApprovalEntry | undefined>
  /**
   * Takes a call that was decided out of those that wait, until the record says it as well. Never rejects: the record
   * comes in any case.
   */
  readonly mark: (decided: {
    readonly session: string
    readonly run: string
    readonly call: string
    readonly state: 'approved' | 'denied'
    readonly decidedBy: Decider
  }) => Promise<void>
}
