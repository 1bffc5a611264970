import {
  freeFields,
  ruleIdOf,
  shapeOf,
  approverText,
  mayApprove,
  type ApprovalRule,
} from '../types/approval.ts'
import type { Approver } from '#contracts/approval.ts'
import type { Decider, Decision, Pause } from '#runtime/kernel/types/pause.ts'
import { IsolaError } from '#contracts/errors.ts'
import { joinLabels } from '#contracts/label.ts'
import type { Hash, RunRow } from '../storage/stored-rows.ts'
import { conflict } from './pauses.ts'

const dayMs = 86_400_000
const defaultDays = 30

/** The owner of a session as a decider: no operator, whatever rights its keys have. */
export const ownerOf = (principal: string): Decider => ({ principal, role: 'user', via: 'session' })

/** Whose approval a call waits for. */
const approverIn = ({ approval }: Pick<Pause, 'approval'>): Approver =>
  approval?.approver ?? 'owner'

/**
 * Checks the decider, for every surface. An approval needs the approver that the policy named when the call began to
 * wait. The owner or an operator may also deny a call, and answers every other pause. Throws `request_forbidden`.
 */
export function refuseUnlessMay(
  pause: Pick<Pause, 'kind' | 'approval'>,
  { decision }: Pick<Decision, 'decision'>,
  { decider, owner }: { readonly decider: Decider; readonly owner: string },
): void {
  const isOwners = mayApprove('owner', decider, owner)
  const approver = approverIn(pause)
  const may =
    pause.kind === 'approval' && mayApprove(approver, decider, owner)
      ? true
      : isOwners && (pause.kind !== 'approval' || decision !== 'approve')
  if (may) return
  const who = approverText(pause.kind === 'approval' ? approver : 'owner')
  throw new IsolaError('request_forbidden', `Not yours to decide: this call waits for ${who}.`)
}

/** Stands for a decision that did not come in time. */
export const tooLate = 'expired'

/** The error for a decision without effect: another decider was quicker, or it was too late. */
export function decidedAlready(
  before: string,
  {
    who,
    isSame,
  }: {
    readonly who: (Decider & { readonly atMs: number }) | undefined
    readonly isSame: boolean
  },
): IsolaError {
  if (before === tooLate)
    return conflict('It is too late: nobody decided in time, so the call was not made.')
  const how = isSame ? '' : ', and otherwise'
  const by = who ? `: by ${who.principal} (${who.role}) at ${new Date(who.atMs).toISOString()}` : ''
  return conflict(`This call was decided already${how}${by}.`)
}

/** Over the inbox another decider was quicker; in its session the same decision again is no error. */
export const isAnothers = (before: Decider | undefined, { principal, via }: Decider): boolean =>
  via === 'inbox' && before !== undefined && before.principal !== principal

/** The part of a decision that has to be equal in two equal decisions: not the hash of the shown arguments. */
export function digestible(decision: Decision): unknown {
  if (decision.decision !== 'approve') return decision
  const { argsHash: _shown, ...more } = decision
  return decision.also === undefined ? 'approve' : more
}

interface RuleOptions {
  readonly call: string
  readonly decision: Decision
  readonly decider: Decider
  readonly session: string
  readonly nowMs: number
  readonly sha256: Hash
}

/**
 * The rule that an approval makes for later calls; `undefined` if it makes none. The same approval makes the same
 * rule, so that it can be repeated. Throws `request_invalid`.
 */
export function ruleOf(
  row: RunRow,
  pauses: readonly Pause[],
  options: RuleOptions,
): ApprovalRule | undefined {
  const { call, decision, decider, session, nowMs, sha256 } = options
  if (decision.decision !== 'approve') return undefined
  const { also, argsHash, free: names = [], days = defaultDays } = decision
  if (also === undefined) {
    if (names.length === 0 && decision.days === undefined) return undefined
    throw invalid('also', 'must be there where `free` or `days` is.')
  }
  if (argsHash === undefined) throw invalid('argsHash', 'must be there with `also`.')
  const pause = pauses.find((one) => one.call === call)
  if (!pause) return undefined
  if (pause.kind !== 'approval' || !pause.approval)
    throw invalid('also', 'only a call that waits for a yes can be allowed for later.')
  const free = freeFields(pause.input, names)
  if (!free) throw invalid('free', `the arguments have ${Object.keys(pause.input).join(', ')}.`)
  const { lineage, principal } = row.submission
  return {
    id: ruleIdOf({ session, run: row.id, call, argsHash }, sha256),
    principal,
    agent: pause.approval.asker.agent,
    tool: pause.tool,
    definitionHash: pause.definitionHash,
    ...(also === 'session' && { session: lineage?.rootSession ?? session }),
    free,
    shape: shapeOf(pause.input, { free, ...pause.approval }, sha256),
    label: joinLabels([pause.label]),
    decidedBy: decider,
    createdAtMs: nowMs,
    expiresAtMs: nowMs + days * dayMs,
  }
}

const invalid = (param: string, why: string) =>
  new IsolaError('request_invalid', `${param}: ${why}`, { param })
