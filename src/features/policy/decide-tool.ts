import {
  labelRuleLine,
  labelText,
  verdictOf,
  worse,
  type RuledCall,
} from '#runtime/kernel/types/label-rules.ts'
import type { Approver } from '#contracts/approval-words.ts'
import { type Destination } from '#contracts/destination.ts'
import { isOpen } from '#contracts/network-rule.ts'
import { addressOf, namedHosts } from './types.ts'
import {
  isMatch,
  isMatchOfAny,
  type AskedTool,
  type ToolDecision,
  type ToolPolicy,
  type ToolPolicySection,
  type ToolRate,
  type TryPolicy,
} from '#runtime/kernel/types/tool-policy.ts'

const core = 'isola__'

/**
 * Applies the operator's policy to a call. Order: deny rules, allow-lists, hosts, destructive tools, label rules; the
 * strictest result wins.
 */
export function decideTool(policy: ToolPolicy, asked: AskedTool): ToolDecision {
  const { tool } = asked
  const sections = sectionsOf(policy, asked)
  for (const { where, deny } of sections) {
    const rule = deny?.find((one) => isMatch(tool, one))
    if (rule !== undefined) return denied('denied_by_rule', `${where}: deny ${rule}`)
  }
  for (const { where, allow } of sections) {
    if (allow === undefined || tool.startsWith(core) || isMatchOfAny(tool, allow)) continue
    return denied('not_in_allow_list', `${where}: allow`)
  }
  const labelled = byLabel(policy, asked, sections)
  const { about } = labelled
  // An approver sees the labels even if the call is asked about for another reason.
  return { ...worse(byWhatItDoes(policy, asked, sections), labelled), ...(about && { about }) }
}

type Section = { readonly where: string } & Partial<ToolPolicySection>

const sectionsOf = (policy: ToolPolicy, { agent, principal }: AskedTool): readonly Section[] => [
  { where: 'deployment', ...policy },
  { where: `agents.${agent}`, ...own(policy.agents, agent) },
  { where: `principals.${principal}`, ...own(policy.principals, principal) },
]

/** Decides by the call's host, and by whether the tool is destructive. */
function byWhatItDoes(
  { destructive, network }: ToolPolicy,
  { tool, isDestructive, isElsewhere }: AskedTool,
  sections: readonly Section[],
): ToolDecision {
  const where = isElsewhere ? network.elsewhere : 'allow'
  const elsewhere = { reason: 'host_not_allowed', rule: `deployment: network ${where}` } as const
  if (where === 'deny') return { verdict: where, ...elsewhere }
  const isListed = sections.some((one) => isMatchOfAny(tool, one.allow_destructive ?? []))
  if (isDestructive && !isListed && destructive !== 'allow' && destructive !== where)
    return {
      verdict: destructive,
      reason: 'destructive',
      rule: `deployment: destructive ${destructive}`,
    }
  return where === 'ask' ? { verdict: where, ...elsewhere } : allowed
}

/**
 * Decides by the labels read before and the sinks of the call. A `deny` that fits wins wherever it stands; else the
 * first rule that fits decides: the principal's rules before the agent's, and these before the deployment's.
 */
function byLabel(
  { network }: ToolPolicy,
  { label, sinks = [], tool, goesTo }: AskedTool,
  sections: readonly Section[],
): ToolDecision {
  if (!label || sinks.length === 0) return allowed
  const rules = sections.toReversed().flatMap(({ labels = [] }) => labels)
  const found = verdictOf(label, sinks, rules, { tool, ...placeOf(goesTo, network) })
  const { verdict, rule } = found
  if (!rule || verdict === 'allow') return allowed
  const { where } = sections.find(({ labels = [] }) => labels.includes(rule))!
  const text = `${where}: ${labelRuleLine(rule)}`
  return { verdict, reason: 'label', rule: text, about: labelText(label, found) }
}

/** Whose approval the call needs, if it needs one. */
export function approverOf(policy: ToolPolicy, asked: AskedTool): Approver {
  const { tool, sinks = [] } = asked
  const rules = sectionsOf(policy, asked)
    .toReversed()
    .flatMap(({ approvers = [] }) => approvers)
  const found = rules.find(
    ({ tools, sink }) =>
      isMatch(tool, tools) &&
      (sink === undefined || [sink].flat().some((one) => sinks.includes(one))),
  )
  return found?.approver ?? 'owner'
}

/** The call's destination as label rules see it. `*`, which opens every host, names none. */
function placeOf(to: Destination | undefined, network: ToolPolicy['network']): RuledCall {
  if (!to) return {}
  if (!('url' in to)) return { home: to.home, isNamed: true }
  const isNamed = isOpen(to, { hosts: namedHosts(network) }, [])
  return { home: `* ${new URL(to.url).host}`, isNamed }
}

/** All rates that limit this tool; every one of them holds. */
export const ratesOf = (policy: ToolPolicy, tool: string): readonly ToolRate[] =>
  policy.rates.filter((rate) => isMatch(tool, rate.tools))

/**
 * Whether a call goes to a host that is not open. @param ownHosts Hosts at which a development server answers itself.
 */
export function goesElsewhere(
  { network }: Pick<ToolPolicy, 'network'>,
  goesTo: Destination | undefined,
  ownHosts: readonly string[],
): boolean {
  const to = addressOf(goesTo)
  return to !== undefined && !isOpen(to, network, ownHosts)
}

/** Decides about a call that is not made, and adds its rates and approver. */
export const createTryPolicy =
  (ownHosts: readonly string[]): TryPolicy =>
  (policy, given) => {
    const asked = { ...given, isElsewhere: goesElsewhere(policy, given.goesTo, ownHosts) }
    const decision = decideTool(policy, asked)
    const rates = ratesOf(policy, asked.tool)
    const approver = decision.verdict === 'ask' && { approver: approverOf(policy, asked) }
    return { ...decision, rates, ...approver }
  }

const allowed: ToolDecision = { verdict: 'allow', reason: 'allowed', rule: '' }

const denied = (reason: ToolDecision['reason'], rule: string): ToolDecision => ({
  verdict: 'deny',
  reason,
  rule,
})

/** `hasOwn`, because a principal may be called `constructor`. */
const own = (sections: ToolPolicy['agents'], id: string) =>
  Object.hasOwn(sections, id) ? sections[id] : undefined
