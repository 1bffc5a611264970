import { defined } from '#contracts/defined.ts'
import {
  covers,
  isOutdated,
  likenessOf,
  ruleIdOf,
  scopeOf,
  type ApprovalRules,
} from '#runtime/session/types/approval.ts'
import { toCanonicalJson } from '#contracts/json.ts'
import { zeroAmount } from '#contracts/lease.ts'
import type { ApprovalNeed, ApprovalSubject } from '#runtime/kernel/types/policy.ts'
import type { Sources } from '#contracts/sources.ts'
import { sink } from '#contracts/label.ts'
import type { AskedWhy, Why } from '#features/policy/types.ts'

interface ToAskDeps extends Pick<Sources, 'clock' | 'sha256'> {
  readonly rules: Pick<ApprovalRules, 'of'>
}

/**
 * Builds the approval request for a call, or finds the rule of an earlier approval that covers it and emits
 * `approval_held`. Rules that cannot be read cover nothing.
 */
export const createToAsk =
  ({ rules, clock, sha256 }: ToAskDeps) =>
  async (subject: ApprovalSubject, why: Why & AskedWhy): Promise<ApprovalNeed> => {
    const { principal, agent, session, run, call, tool, emit } = subject
    const { approver, reason, rule, about, place } = why
    const sinks = subject.sinks ?? sink.options
    const { isDestructive = false } = subject
    const asked = { reason, sinks, isDestructive, ...defined({ place }) }
    const known = await rules.of(principal, tool).catch(() => [])
    const now = { approver, nowMs: clock.nowMs(), sha256 }
    // The rule that this very call's approval made does not count: the approval itself is its answer.
    const argsHash = sha256(toCanonicalJson(subject.input))
    const own = ruleIdOf({ session, run, call, argsHash }, sha256)
    const covering = known.find(
      (one) => one.id !== own && covers(one, { ...subject, ...asked }, now),
    )
    if (covering) {
      const { id, decidedBy } = covering
      emit?.({
        type: 'approval_held',
        data: { call, tool, rule: id, scope: scopeOf(covering), decidedBy },
      })
      return { isCovered: true }
    }
    const outdated = known.find((one) => isOutdated(one, subject, now))
    return {
      ...defined({ about }),
      approval: {
        id: `apr_${sha256(JSON.stringify([session, run, call])).slice(0, 22)}`,
        approver,
        asker: { principal, agent, session, run },
        ...asked,
        rule,
        argsHash,
        shape: likenessOf(subject, sha256),
        ...(outdated && { outdatedRule: outdated.id }),
        ...mayCost(subject.amount),
      },
    }
  }

/** Leaves out zero amounts; a call without a lease costs none. */
function mayCost({ tokens, costNanoUsd }: NonNullable<ApprovalSubject['amount']> = zeroAmount) {
  const cost = { ...(tokens > 0 && { tokens }), ...(costNanoUsd > 0 && { costNanoUsd }) }
  return Object.keys(cost).length > 0 && { mayCost: cost }
}
