import {
  isMatch,
  isMatchOfAny,
  type AskedTool,
  type ToolDecision,
  type ToolPolicy,
  type ToolRate,
  type TryPolicy,
} from '#contracts/tool-policy.ts'

const core = 'isola__'

/** What the operator's policy says of a call: deny wins, then every allow-list that applies, then where it goes, then what is destructive. */
export function decideTool(policy: ToolPolicy, asked: AskedTool): ToolDecision {
  const { tool, agent, principal, isDestructive, isElsewhere } = asked
  const sections = [
    { where: 'deployment', ...policy },
    { where: `agents.${agent}`, ...own(policy.agents, agent) },
    { where: `principals.${principal}`, ...own(policy.principals, principal) },
  ]
  for (const { where, deny } of sections) {
    const rule = deny?.find((one) => isMatch(tool, one))
    if (rule !== undefined) return denied('denied_by_rule', `${where}: deny ${rule}`)
  }
  for (const { where, allow } of sections) {
    if (allow === undefined || tool.startsWith(core) || isMatchOfAny(tool, allow)) continue
    return denied('not_in_allow_list', `${where}: allow`)
  }
  const { destructive, network } = policy
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

/** Limits of how often this tool may be called; all of them hold. */
export const ratesOf = (policy: ToolPolicy, tool: string): readonly ToolRate[] =>
  policy.rates.filter((rate) => isMatch(tool, rate.tools))

/** Both, for whoever tries a policy out. */
export const tryPolicy: TryPolicy = (policy, asked) => ({
  ...decideTool(policy, asked),
  rates: ratesOf(policy, asked.tool),
})

const allowed: ToolDecision = { verdict: 'allow', reason: 'allowed', rule: '' }

const denied = (reason: ToolDecision['reason'], rule: string): ToolDecision => ({
  verdict: 'deny',
  reason,
  rule,
})

/** A principal may be called `constructor`. */
const own = (sections: ToolPolicy['agents'], id: string) =>
  Object.hasOwn(sections, id) ? sections[id] : undefined
