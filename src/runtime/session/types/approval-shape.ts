import type { Approver } from '#contracts/approval.ts'
import { mayApprove, type ApprovalRule } from './approval.ts'
import type { AskedCall, AskedFor, FreeFields } from './approval.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import { joinLabels, labelFrom, type Label } from '#contracts/label.ts'

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
