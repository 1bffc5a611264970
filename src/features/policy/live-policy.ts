import type { Approver } from '#contracts/approval-words.ts'
import { policyOf, type PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import type {
  Approvals,
  ApprovalSubject,
  CallSubject,
  DeniedTools,
  HookSubject,
  Policy,
  PolicyVerdict,
  RateLimiter,
  UnseenWords,
} from '#runtime/kernel/types/policy.ts'
import { joinLabels, ownLabel, sink, type Label } from '#contracts/label.ts'
import { labelOfLink } from '#runtime/kernel/types/narrow-types.ts'
import type { PrincipalRates } from '#runtime/session/types/principal.ts'
import { addressOf } from './types/destination.ts'
import { type Destination } from '#contracts/destination.ts'
import { closedAddressText } from './types/network-rule.ts'
import { type OutsideAddress } from '#contracts/network-rule.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import type { ToolDecision, ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'
import { approverOf, decideTool, goesElsewhere, ratesOf } from './decide-tool.ts'

/** Where the policy in force is read, and who counts calls. */
export interface LivePolicyDeps {
  /** The set in force, as it is cached here, the policy with it. Throws if none was ever read. */
  readonly snapshot: () => Promise<PluginSnapshot>
  readonly takeRate: PrincipalRates['takeRate']
  /** Hosts and ports at which a server in development itself answers. */
  readonly ownHosts: readonly string[]
  /** Which words in this very input whoever makes the call has not seen. */
  readonly unseen?: (input: CallSubject['input']) => UnseenWords | undefined
  /** What somebody is asked, unless a rule covers it. */
  readonly toAsk: (
    subject: ApprovalSubject,
    why: Why & AskedWhy,
  ) => ReturnType<Approvals['isNeeded']>
}

/** Whose yes a call needs, and what somebody should see first. */
export interface AskedWhy {
  readonly approver: Approver
  readonly about: string | undefined
  /** Where the call goes: the origin if that is closed, else what names the one place it can reach. */
  readonly place: string | undefined
}

/** Microtasks: the calls of a turn reach a gate in the same one, give or take what a gate before it awaits. */
const momentTicks = 8

async function moment(): Promise<void> {
  for (let tick = 0; tick < momentTicks; tick += 1) await Promise.resolve()
}

/**
 * The gates of what the operator allows. The policy comes with the generation, so that a call asks nobody; one that has
 * a rate asks its principal's object. What cannot be known is no permission.
 */
export function createLivePolicy(deps: LivePolicyDeps): {
  readonly policy: Policy
  readonly rates: RateLimiter
  readonly approvals: Approvals
  /** While nobody knows the policy, none: no call of any is allowed then. */
  readonly deniedOf: DeniedTools
} {
  const { snapshot, takeRate, ownHosts } = deps
  const look = (): Promise<ToolPolicy | undefined> => snapshot().then(policyOf, () => undefined)
  /**
   * Calls of a turn come here in the same moment, and ask once: one that comes later asks anew, since what is allowed
   * may have changed meanwhile. Not those of other sessions: no object waits for another's answer.
   */
  const asking = new WeakMap<AbortSignal, Promise<ToolPolicy | undefined>>()
  const now = ({ signal }: CallSubject): Promise<ToolPolicy | undefined> => {
    if (!signal) return look()
    const running = asking.get(signal)
    if (running) return running
    const looked = look()
    asking.set(signal, looked)
    void moment().then(() => asking.delete(signal))
    return looked
  }
  const isElsewhere = (policy: ToolPolicy, goesTo: Destination | undefined) =>
    goesElsewhere(policy, goesTo, ownHosts)
  /** Words that nobody saw steer nothing but what they are in: an operator may say in which parameters that is harmless. */
  const labelOf = (
    { unseen_words = [], unseen_links = [] }: ToolPolicy,
    { tool, input, label }: CallSubject,
  ): Label => {
    const words = deps.unseen?.(input)
    if (!words) return joinLabels([label])
    const left = words.parts.map((one) => {
      const place = `${tool} ${one.parameter}`
      if (unseen_words.includes(place)) return ownLabel
      return one.isLink && unseen_links.includes(place) ? labelOfLink(one.label) : one.label
    })
    return joinLabels([words.own, ...left])
  }
  /** A model reads it too, where nobody can be asked: no address that it has not seen is in it. */
  const closedText = ({ input }: CallSubject, to: OutsideAddress): string =>
    deps.unseen?.(input) ? unseenAddressText : closedAddressText(to)
  /** What nobody labelled is the worst, and what says nothing of its sinks does everything. */
  const asked = (policy: ToolPolicy, subject: CallSubject) => ({
    ...subject,
    isElsewhere: isElsewhere(policy, subject.goesTo),
    label: labelOf(policy, subject),
    sinks: subject.sinks ?? sink.options,
  })
  const decide = (policy: ToolPolicy, subject: CallSubject) =>
    decideTool(policy, asked(policy, subject))
  return {
    async deniedOf(tools, { agent, principal }) {
      const policy = await look()
      if (!policy) return []
      const isDenied = ({ tool: { name: tool }, isDestructive }: ToolEntry) =>
        decideTool(policy, { agent, principal, tool, isDestructive: Boolean(isDestructive) })
          .verdict === 'deny'
      return tools.filter(isDenied).map(({ tool }) => tool.name)
    },
    policy: {
      async decide(subject) {
        const policy = await now(subject)
        if (!policy) return refused(subject, { reason: 'policy_unknown', rule: '' }, closedText)
        const { verdict, reason, rule } = decide(policy, subject)
        if (verdict !== 'deny') return { allow: true }
        return refused(subject, { reason, rule }, closedText)
      },
    },
    rates: {
      async take(subject) {
        const policy = await now(subject)
        const rates = policy ? ratesOf(policy, subject.tool) : []
        if (rates.length === 0) return { allow: true }
        const { principal, run, call, rootSession } = subject
        const rules = rates.map(({ tools, per, calls_per_minute: most }) => ({
          key: JSON.stringify([tools, per === 'session' ? rootSession : '']),
          most,
        }))
        const about = rates.map(({ tools, per }) => `${tools} per ${per}`).join(', ')
        try {
          const { retryAfterMs } = await takeRate(principal, { call: `${run}:${call}`, rules })
          if (retryAfterMs === undefined) return { allow: true }
          return limited(subject, { reason: 'over_rate', rule: about, retryAfterMs })
        } catch {
          return limited(subject, { reason: 'rate_unknown', rule: about, retryAfterMs: 5_000 })
        }
      },
    },
    approvals: {
      async isNeeded(subject) {
        const policy = await now(subject)
        const { asks } = subject
        const goesTo = addressOf(subject.goesTo)
        const decided: Verdict = policy ? decide(policy, subject) : unknown
        const { verdict, about, reason, rule } = decided
        if (verdict === 'allow' && !asks) return false
        // Nobody knows what is open: then nothing is.
        const closed = !policy || isElsewhere(policy, goesTo) ? goesTo : undefined
        const where = policy && closed ? [closedText(subject, closed)] : []
        const texts = [...where, ...(about === undefined ? [] : [about])]
        return deps.toAsk(subject, {
          ...(verdict === 'allow' ? { reason: asks ?? '', rule: '' } : { reason, rule }),
          // Nobody knows what the policy says: then an operator is asked.
          approver: policy ? approverOf(policy, asked(policy, subject)) : 'operator',
          about: texts.length === 0 ? undefined : texts.join(' '),
          place: closed ? new URL(closed.url).origin : namedIn(subject.goesTo),
        })
      },
    },
  }
}

const unseenAddressText = 'The address that was put in is of a host that is not open here.'

const namedIn = (to: Destination | undefined): string | undefined =>
  to && 'url' in to ? undefined : (to?.origin ?? to?.home)

type Verdict = Pick<ToolDecision, 'verdict' | 'about'> & Why
const unknown = { verdict: 'ask', reason: 'policy_unknown', rule: '' } as const

/** What decided, for the record. */
export interface Why {
  readonly reason: string
  readonly rule: string
}

/** Alike for the model, whatever the reason; the record has it. A host that is not allowed is named: it asked for it. */
function refused(
  subject: HookSubject,
  why: Why,
  closedText: (subject: CallSubject, to: OutsideAddress) => string,
): PolicyVerdict {
  note(subject, why)
  const to = addressOf(subject.goesTo)
  if (why.reason === 'host_not_allowed' && to)
    return { allow: false, code: 'tool_denied', message: closedText(subject, to) }
  return { allow: false, code: 'tool_denied', message: 'This tool may not be called here.' }
}

function limited(
  subject: HookSubject,
  { retryAfterMs, ...why }: Why & { readonly retryAfterMs: number },
): PolicyVerdict {
  note(subject, why)
  const message = `This tool was called too often. Try again in ${Math.ceil(retryAfterMs / 1_000)} s.`
  return { allow: false, code: 'tool_rate_limited', message }
}

const note = ({ call, tool, emit }: CallSubject & Pick<HookSubject, 'emit'>, why: Why): void =>
  emit({ type: 'call_denied', data: { call, tool, ...why } })
