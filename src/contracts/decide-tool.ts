import { isMatch, isMatchOfAny, type ToolPolicy, type ToolRate } from './tool-policy.ts'

/** Who wants to call what. */
export interface AskedTool {
  readonly tool: string
  readonly agent: string
  readonly principal: string
  /** It says that it destroys, or it writes into a database. */
  readonly isDestructive?: boolean | undefined
  /** It goes to a host that the deployment has not allowed. */
  readonly isElsewhere?: boolean | undefined
}

/** `rule` names the line that decided, for the record: the model never sees it. */
export interface ToolDecision {
  readonly verdict: 'allow' | 'ask' | 'deny'
  readonly reason:
    | 'allowed'
    | 'denied_by_rule'
    | 'not_in_allow_list'
    | 'host_not_allowed'
    | 'destructive'
  readonly rule: string
}

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

const allowed: ToolDecision = { verdict: 'allow', reason: 'allowed', rule: '' }

const denied = (reason: ToolDecision['reason'], rule: string): ToolDecision => ({
  verdict: 'deny',
  reason,
  rule,
})

/** A principal may be called `constructor`. */
const own = (sections: ToolPolicy['agents'], id: string) =>
  Object.hasOwn(sections, id) ? sections[id] : undefined

/**
 * What a remote server says of a tool of its, by its specification: one that says neither that it only reads nor that it
 * destroys nothing may destroy (`presumed`).
 * @see https://modelcontextprotocol.io/specification, ToolAnnotations: the default of `destructiveHint` is true
 */
export function remoteToolDestroys(annotations: unknown): boolean | 'presumed' {
  const { destructiveHint, readOnlyHint } = Object(annotations) as {
    readonly destructiveHint?: unknown
    readonly readOnlyHint?: unknown
  }
  if (typeof destructiveHint === 'boolean') return destructiveHint
  return readOnlyHint === true ? false : 'presumed'
}

/** What a plugin says against itself counts, whoever wrote it; so does leave to write into the operator's database. */
export const toolDestroys = (
  hints: {
    readonly destructiveHint?: boolean | undefined
    readonly readOnlyHint?: boolean | undefined
  },
  grants: { readonly database?: { readonly access: string } | undefined },
): boolean =>
  hints.destructiveHint === true ||
  (grants.database?.access === 'write' && hints.readOnlyHint !== true)
