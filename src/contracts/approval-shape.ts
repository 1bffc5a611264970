import { mayApprove, type ApprovalRule, type Approver } from './approval.ts'
import type { AskedCall, AskedFor, FreeFields } from './approval.ts'
import type { Json, JsonObject } from './json.ts'
import { joinLabels, labelFrom, type Label } from './label.ts'

type Sha256 = (text: string) => string

/** The same text for the same value, in whatever order its fields came. */
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

/** The types of these fields; `undefined` if one of them is not there. */
export function freeFields(input: JsonObject, names: readonly string[]): FreeFields | undefined {
  if (names.some((name) => !Object.hasOwn(input, name))) return undefined
  return Object.fromEntries(names.map((name) => [name, typeOf(input[name])]))
}

/**
 * Names the arguments with everything fixed but what is free: of that only the type counts. Whoever allows it was told
 * why they were asked, what the call does and where: a call that differs there has another shape.
 */
export function shapeOf(
  input: JsonObject,
  { free, reason, sinks, place = '' }: AskedFor & { readonly free: FreeFields },
  sha256: Sha256,
): string {
  const fixed = Object.entries(input).filter(([name]) => !Object.hasOwn(free, name))
  const asked = { reason, sinks: sinks.toSorted(), place }
  return sha256(canonical({ fixed: Object.fromEntries(fixed), free, asked }))
}

/** Alike for calls that somebody may decide about together. */
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

/** Of the rule that the approval of a call makes: the same approval makes the same rule. */
export function ruleIdOf(
  of: Readonly<Record<'session' | 'run' | 'call' | 'argsHash', string>>,
  sha256: Sha256,
): string {
  const { session, run, call, argsHash } = of
  return `rul_${sha256(JSON.stringify([session, run, call, argsHash])).slice(0, 22)}`
}

/** Stands for sources that were too many to name: nobody knows them. */
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

/** Whether this rule lets the call run, for which the policy wants the yes of `approver`. */
export function covers(
  rule: ApprovalRule,
  call: AskedCall & AskedFor,
  now: { readonly approver: Approver; readonly nowMs: number; readonly sha256: Sha256 },
): boolean {
  const { principal, agent, tool, definitionHash, session, free, expiresAtMs } = rule
  return (
    principal === call.principal &&
    agent === call.agent &&
    tool === call.tool &&
    definitionHash === call.definitionHash &&
    (session === undefined || session === call.rootSession) &&
    now.nowMs < expiresAtMs &&
    // What the policy wants by now, not what it wanted then.
    mayApprove(now.approver, rule.decidedBy, principal) &&
    isNoWorse(call.label, rule.label) &&
    shapeOf(
      call.input,
      { ...call, free: freeFields(call.input, Object.keys(free)) ?? {} },
      now.sha256,
    ) === rule.shape
  )
}
