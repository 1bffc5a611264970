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
import { addressOf, closedAddressText, type AskedWhy, type Why } from './types.ts'
import type { Destination, OutsideAddress } from '#contracts/destination.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import type { ToolDecision, ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'
import { approverOf, decideTool, goesElsewhere, ratesOf } from './decide-tool.ts'

/** Where the policy in force is read, and which object counts calls. */
export interface LivePolicyDeps {
  /** The cached generation in force, with its policy. Throws if none was ever read. */
  readonly snapshot: () => Promise<PluginSnapshot>
  readonly takeRate: PrincipalRates['takeRate']
  /** Hosts and ports at which a development server answers itself. */
  readonly ownHosts: readonly string[]
  /** The words in this input object that the calling agent has not seen. */
  readonly unseen?: (input: CallSubject['input']) => UnseenWords | undefined
  /** Builds the approval request, unless a rule of an earlier approval covers the call. */
  readonly toAsk: (
    subject: ApprovalSubject,
    why: Why & AskedWhy,
  ) => ReturnType<Approvals['isNeeded']>
}

/** In microtasks. The calls of a turn reach a gate together, except for awaits in the gates before it. */
const momentTicks = 8

async function moment(): Promise<void> {
  for (let tick = 0; tick < momentTicks; tick += 1) await Promise.resolve()
}

/**
 * The gates of the operator's policy. The policy is part of the cached generation, so that deciding makes no request;
 * a tool with a rate asks its principal's object. An unknown policy or rate permits nothing.
 */
export function createLivePolicy(deps: LivePolicyDeps): {
  readonly policy: Policy
  readonly rates: RateLimiter
  readonly approvals: Approvals
  /** Empty while the policy cannot be read: then no call is allowed anyway. */
  readonly deniedOf: DeniedTools
} {
  const { snapshot, takeRate, ownHosts } = deps
  const look = (): Promise<ToolPolicy | undefined> => snapshot().then(policyOf, () => undefined)
  /**
   * Calls of one turn arrive at the same time and share one read. A later call reads again, since the policy may have
   * changed. Sessions share no read: no object waits for another's answer.
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
  /**
   * Label of a call. Unseen words affect only their own parameter; an operator may declare parameters where they are
   * harmless.
   */
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
  /**
   * Text about a closed host. If no approver can be asked, a model reads it, so it contains no address that the model
   * has not seen.
   */
  const closedText = ({ input }: CallSubject, to: OutsideAddress): string =>
    deps.unseen?.(input) ? unseenAddressText : closedAddressText(to)
  /** An absent label counts as the worst; absent sinks count as all sinks. */
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
        // Without a policy no host is known to be open, so every host is closed.
        const closed = !policy || isElsewhere(policy, goesTo) ? goesTo : undefined
        const where = policy && closed ? [closedText(subject, closed)] : []
        const texts = [...where, ...(about === undefined ? [] : [about])]
        return deps.toAsk(subject, {
          ...(verdict === 'allow' ? { reason: asks ?? '', rule: '' } : { reason, rule }),
          // Without a policy an operator must decide.
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

/**
 * The model gets the same message whatever the reason; the record has the reason. A closed host is named, since the
 * call named it.
 */
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
