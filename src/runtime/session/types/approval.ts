import * as z from 'zod'
import type { ApprovalScope, Decider } from '#runtime/kernel/types/pause.ts'
import {
  type Approver,
  type ApprovalRequest,
  approverSchema,
  decidedBySchema,
  askerSchema,
} from '#contracts/approval.ts'
import type { JsonObject, Json } from '#contracts/json.ts'
import { type Label, labelSchema, joinLabels, labelFrom } from '#contracts/label.ts'
import type { Administrator } from '#contracts/keys.ts'

/** The state of a call that needs an approval. `ended`: its run ended before a decision. */
export const approvalState = z.enum(['open', 'approved', 'denied', 'expired', 'ended'])

/** The reach of a rule, of one session or of all. */
export const scopeOf = ({ session }: ApprovalRule): ApprovalScope =>
  session === undefined ? 'rule' : 'session'

/** Whether this decider may approve. `owner`: the owner of the session. */
export function mayApprove(
  approver: Approver,
  { principal, role }: Pick<Decider, 'principal' | 'role'>,
  owner: string,
): boolean {
  if (role === 'operator') return true
  return approver === 'owner' ? principal === owner : role === approver
}

/** The possible approvers, in words for a principal that may not approve. */
export const approverText = (approver: Approver): string =>
  approver === 'owner'
    ? 'whoever the session is of, or an operator'
    : approver === 'operator'
      ? 'an operator'
      : `somebody with the role ${approver}, or an operator`

/** Fields of the arguments that may be anything of this type; all others are as they were approved. */
type FreeFields = Readonly<Record<string, JsonType>>

type JsonType = z.infer<typeof jsonType>

export type ApprovalRule = Readonly<z.infer<typeof approvalRuleSchema>>

/** Why a call needs an approval, what it does outward, and where. */
export type AskedFor = Pick<ApprovalRequest, 'reason' | 'sinks' | 'place' | 'isDestructive'>

/** A call that would need an approval. */
export interface AskedCall {
  readonly principal: string
  readonly agent: string
  readonly tool: string
  readonly definitionHash?: string | undefined
  readonly rootSession: string
  readonly input: JsonObject
  readonly label?: Label | undefined
}

export type ApprovalEntry = Readonly<z.infer<typeof approvalEntrySchema>>

/** Filters for the list of entries. An absent filter matches all. */
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
   * Removes a decided call from the list of waiting calls before the record does. Never rejects: the record comes in
   * any case.
   */
  readonly mark: (decided: {
    readonly session: string
    readonly run: string
    readonly call: string
    readonly state: 'approved' | 'denied'
    readonly decidedBy: Decider
  }) => Promise<void>
}

/** The types that a free field of the arguments may have. */
const jsonType = z.enum(['string', 'number', 'boolean', 'null', 'array', 'object'])

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

type Sha256 = (text: string) => string

/** A text that is the same for equal values, whatever the order of their fields. */
export function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const fields = Object.entries(value as JsonObject).toSorted(([one], [other]) =>
    one < other ? -1 : 1,
  )
  return `{${fields.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one)}`).join(',')}}`
}

const typeOf = (value: Json | undefined): FreeFields[string] => {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value as 'string' | 'number' | 'boolean' | 'object'
}

/** The types of these fields; `undefined` if a field is missing. */
export function freeFields(input: JsonObject, names: readonly string[]): FreeFields | undefined {
  if (names.some((name) => !Object.hasOwn(input, name))) return undefined
  return Object.fromEntries(names.map((name) => [name, typeOf(input[name])]))
}

/**
 * A hash of the arguments: every value is fixed, except that a free field counts by its type only. The approver saw the
 * reason, the sinks and the place, so a call that differs in one of them has another shape.
 */
export function shapeOf(
  input: JsonObject,
  { free, reason, sinks, place = '', isDestructive }: AskedFor & { readonly free: FreeFields },
  sha256: Sha256,
): string {
  const fixed = Object.entries(input).filter(([name]) => !Object.hasOwn(free, name))
  // The reason may already be `destructive`.
  const destroys = isDestructive && reason !== 'destructive'
  const asked = { reason, sinks: sinks.toSorted(), place, ...(destroys && { destroys }) }
  return sha256(canonical({ fixed: Object.fromEntries(fixed), free, asked }))
}

/** The same for calls that one decision may cover together. */
export const likenessOf = (
  { tool, definitionHash = '', input, label }: AskedCall,
  sha256: Sha256,
): string =>
  sha256(
    canonical({
      tool,
      definitionHash,
      free: freeFields(input, Object.keys(input)) ?? {},
      label: canonical(joinLabels([label]) as unknown as Json), // it is JSON
    }),
  )

/** The id of the rule that an approval makes: the same approval makes the same rule. */
export function ruleIdOf(
  of: Readonly<Record<'session' | 'run' | 'call' | 'argsHash', string>>,
  sha256: Sha256,
): string {
  const { session, run, call, argsHash } = of
  return `rul_${sha256(JSON.stringify([session, run, call, argsHash])).slice(0, 22)}`
}

/** Stands for sources that were too many to name, so they cannot be compared. */
const unnamed = '\u2026'

/** Whether a context is no worse than another, in its sources too: joined with the worse one it changes nothing. */
export function isNoWorse(label: Label | undefined, than: Label): boolean {
  const known = label ?? labelFrom('unlabelled')
  if ([...known.sources, ...than.sources].some(({ from }) => from === unnamed)) return false
  const [both, alone] = [joinLabels([known, than]), joinLabels([than])]
  return (
    both.integrity === alone.integrity &&
    both.confidentiality === alone.confidentiality &&
    both.sources.length === alone.sources.length
  )
}

interface Now {
  /** The approver by today's policy, not by the policy at the approval. */
  readonly approver: Approver
  readonly nowMs: number
}

/**
 * Whether this rule covers the call's principal, agent and tool, without regard to its arguments and the tool's
 * version.
 */
function isAbout(rule: ApprovalRule, call: AskedCall, { approver, nowMs }: Now): boolean {
  const { principal, agent, tool, session, expiresAtMs } = rule
  return (
    principal === call.principal &&
    agent === call.agent &&
    tool === call.tool &&
    (session === undefined || session === call.rootSession) &&
    nowMs < expiresAtMs &&
    mayApprove(approver, rule.decidedBy, principal) &&
    isNoWorse(call.label, rule.label)
  )
}

/** Whether this rule lets a call run that needs an approval of `approver`. */
export function covers(
  rule: ApprovalRule,
  call: AskedCall & AskedFor,
  now: Now & { readonly sha256: Sha256 },
): boolean {
  const free = freeFields(call.input, Object.keys(rule.free)) ?? {}
  return (
    isAbout(rule, call, now) &&
    rule.definitionHash === call.definitionHash &&
    shapeOf(call.input, { ...call, free }, now.sha256) === rule.shape
  )
}

/** Whether this rule covered such calls until the tool's schema, hints or code changed. */
export const isOutdated = (rule: ApprovalRule, call: AskedCall, now: Now): boolean =>
  isAbout(rule, call, now) && rule.definitionHash !== call.definitionHash

/** The rules that hold for a tool of a principal. May throw `request_unavailable`. */
export interface ApprovalRules {
  readonly of: (principal: string, tool: string) => Promise<readonly ApprovalRule[]>
  /** The same id twice is one rule. */
  readonly add: (rule: ApprovalRule) => Promise<void>
  /** Newest first; of all principals if none is named. */
  readonly list: (query: {
    readonly principal?: string
    readonly limit: number
  }) => Promise<readonly ApprovalRule[]>
  /** On the record with who takes it back. False if there is none, or (with a principal) none of that one. */
  readonly revoke: (id: string, by: Administrator, principal?: string) => Promise<boolean>
}
