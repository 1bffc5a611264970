import * as z from 'zod'
import { approverSchema, type Approver } from '#contracts/approval.ts'
import type { Destination } from '#contracts/destination.ts'
import { sink, type Label, type Sink } from '#contracts/label.ts'
import { defaultLabelRules, labelRuleLine, labelRuleSchema } from './label-rules.ts'
import { diffLines, type LineDiff } from '#contracts/line-diff.ts'
import { networkRuleSchema } from './network-rule.ts'

const pattern = z
  .string()
  .max(100)
  .regex(
    /^(\*|[A-Za-z0-9_-]{1,64}\*?)$/,
    'must be a tool name, or the start of one with * at the end: kv__set, kv__*, * (letters, digits, _ and - only)',
  )
const patterns = z.array(pattern).max(200)
const names = z.string().min(1).max(200)

const maxPinned = 24

/** Seen by the orchestrator's model from the start where an operator says nothing: what most tasks begin with. */
export const defaultPinned: readonly string[] = [
  'files__read',
  'files__write',
  'http__get',
  'memory__remember',
  'memory__recall',
]

/** Parameters of tools. */
const places = z
  .array(
    z
      .string()
      .regex(
        /^[A-Za-z0-9_-]{1,64} [A-Za-z0-9_.-]{1,64}$/,
        'must be the full name of a tool and a parameter of it: mail__send body',
      ),
  )
  .max(200)
  .optional()

const labelRules = z.array(labelRuleSchema).max(100)

/** Who must approve a call that needs an approval. */
const approverRule = z.strictObject({
  tools: pattern.default('*'),
  /** Only for calls with one of these sinks. */
  sink: z.union([sink, z.array(sink).min(1)]).optional(),
  approver: approverSchema,
})
/**
 * The first rule that fits a call names its approver. The principal's rules come first, then the agent's, then the
 * deployment's. If no rule fits, the session's owner approves.
 */
const approverRules = z.array(approverRule).max(100).optional()

const section = z.strictObject({
  /** If present, only these tools may be called. */
  allow: patterns.optional(),
  deny: patterns.default([]),
  /** Destructive tools that are called without asking. */
  allow_destructive: patterns.default([]),
  /** They come before the deployment's rules; a `deny` that fits counts wherever it stands. */
  labels: labelRules.default([]),
  approvers: approverRules,
})

/**
 * The policy of the deployment, set by an operator: which tools may be called. Core tools (`isola__…`) need no place in
 * `allow`, since they reach nothing by themselves. Unknown keys are refused; an error names the path.
 */
export const toolPolicySchema = z.strictObject({
  allow: patterns.default(['*']),
  deny: patterns.default([]),
  /**
   * The verdict on a tool that declares itself destructive, or writes into a database, and is not in
   * `allow_destructive`.
   */
  destructive: z.enum(['allow', 'ask', 'deny']).default('ask'),
  /** The default lists bundled tools that change only a conversation's own notes and files. */
  allow_destructive: patterns.default(['kv__*', 'files__*', 'memory__clear']),
  /**
   * Rules for sinks by the label of the context. A `deny` that fits decides, else the first rule that fits; without one
   * the call is allowed.
   */
  labels: labelRules.default([...defaultLabelRules]),
  /** Whose approval counts. Without a rule that fits, the owner of the session approves. */
  approvers: approverRules,
  /** Agents (or `*`) that see handles instead of what strangers can have written, and ask a reader for values in it. */
  narrow_reading: z.array(names).max(200).optional(),
  /**
   * Whether the orchestrator may store drafts of skills (`isola__emit_skill`). Other agents declare it in their
   * manifests.
   */
  allow_skill_emission: z.boolean().optional(),
  /**
   * Agents (or `*`) that write code against their tools if the plugin `code` is on, besides agents whose manifest
   * declares it.
   */
  code_mode: z.array(names).max(200).optional(),
  /**
   * Tools with one parameter each, such as `mail__send body`. Unseen words in this parameter do not count as a
   * stranger's text: only the agent's own context decides. In every other parameter they count.
   */
  unseen_words: places,
  /** The same for a link in a material: it counts as a stranger's, and as private as the user's own words. */
  unseen_links: places,
  /**
   * Full names of the tools and agents (`reviewer__run`) that the orchestrator's model sees from the start, as far
   * as its prompt has room, the first first. All others it finds with `isola__find`.
   */
  pinned: z
    .array(
      z
        .string()
        .max(64)
        .regex(
          /^[A-Za-z0-9-]+__[A-Za-z0-9_-]+$/,
          'must be the full name of a tool, such as kv__get, or of an agent: reviewer__run',
        ),
    )
    .max(maxPinned)
    .default([...defaultPinned]),
  /** Closed until an operator opens it, in development too. */
  network: networkRuleSchema.prefault({}),
  /** Sections by the id of the calling agent. */
  agents: z.record(names, section).default({}),
  /** Sections by the principal of the run. */
  principals: z.record(names, section).default({}),
  /** Every rate that matches counts. */
  rates: z
    .array(
      z.strictObject({
        tools: pattern,
        /** The scope of one count: a principal over all its sessions, or a session with its children. */
        per: z.enum(['principal', 'session']),
        calls_per_minute: z.int().min(0).max(10_000),
      }),
    )
    .max(50)
    .default([]),
})

/** Which tools may be called, by whom, how often, and which of them ask first. */
export type ToolPolicy = z.infer<typeof toolPolicySchema>
/** The part of a policy that may be set for an agent by itself. */
export type ToolPolicySection = z.infer<typeof section>
/** How often calls that match may be made, and counted by what. */
export type ToolRate = ToolPolicy['rates'][number]

/** The call that a policy is asked about. */
export interface AskedTool {
  readonly tool: string
  readonly agent: string
  readonly principal: string
  /** The tool declares itself destructive, or writes into a database. */
  readonly isDestructive?: boolean | undefined
  /** The call goes to a host that the deployment has not allowed. */
  readonly isElsewhere?: boolean | undefined
  /** The label of the context before the call; without it no label rule applies. */
  readonly label?: Label | undefined
  /** Where the call goes; anywhere if absent. */
  readonly goesTo?: Destination | undefined
  /** What the call does outward; nothing if absent. */
  readonly sinks?: readonly Sink[] | undefined
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
    | 'label'
  readonly rule: string
  /** If a label decided: the text for the approver. */
  readonly about?: string
}

/**
 * Tries a policy on a call without making it: the decision, the rates that count the call, and the approver if one is
 * needed.
 */
export type TryPolicy = (
  policy: ToolPolicy,
  asked: AskedTool,
) => ToolDecision & { readonly rates: readonly ToolRate[]; readonly approver?: Approver }

/** Before an operator says anything. */
export const defaultToolPolicy: ToolPolicy = toolPolicySchema.parse({})

/** `kv__set` means itself, `kv__*` all that begins so, `*` everything. */
export const isMatch = (tool: string, wanted: string): boolean =>
  wanted.endsWith('*') ? tool.startsWith(wanted.slice(0, -1)) : tool === wanted

/** Whether a tool's full name fits one of these patterns (`kv__*`). */
export const isMatchOfAny = (tool: string, wanted: readonly string[]): boolean =>
  wanted.some((one) => isMatch(tool, one))

/** Every pattern and name of a tool in a policy, once, wherever it stands. */
export function patternsIn(policy: ToolPolicy): readonly string[] {
  const { agents, principals, rates, pinned } = policy
  const sections = [policy, ...Object.values(agents), ...Object.values(principals)]
  const lists = sections.flatMap(
    ({ allow = [], deny, allow_destructive: free, labels, approvers = [] }) => [
      ...allow,
      ...deny,
      ...free,
      ...labels.map(({ tools }) => tools),
      ...approvers.map(({ tools }) => tools),
    ],
  )
  const takers = [policy.unseen_words ?? [], policy.unseen_links ?? []]
    .flat()
    .map((one) => one.split(' ')[0]!)
  return [...new Set([...lists, ...rates.map(({ tools }) => tools), ...pinned, ...takers])]
}

/** A policy as lines, each of which says one thing. */
export function policyLines(policy: ToolPolicy): readonly string[] {
  const { agents, principals, rates, destructive, network, pinned, ...own } = policy
  const of = (where: string, section: ToolPolicySection) => {
    const { allow, deny, allow_destructive, labels, approvers = [] } = section
    return [
      ...(allow ?? []).map((tool) => `${where}allow ${tool}`),
      ...(allow?.length === 0 ? [`${where}allow nothing`] : []),
      ...deny.map((tool) => `${where}deny ${tool}`),
      ...allow_destructive.map((tool) => `${where}allow destructive ${tool}`),
      ...labels.map((rule) => `${where}${labelRuleLine(rule)}`),
      ...approvers.map((rule) => `${where}${approverLine(rule)}`),
    ]
  }
  return [
    ...of('', own),
    `destructive tools: ${destructive}`,
    ...(policy.narrow_reading ?? []).map((agent) => `narrow reading for ${agent}`),
    ...(policy.code_mode ?? []).map((agent) => `code mode for ${agent}`),
    ...(policy.allow_skill_emission ? ['the orchestrator writes drafts of skills'] : []),
    ...(policy.unseen_words ?? []).map(
      (place) => `words that an agent has not seen may be in ${place}`,
    ),
    ...(policy.unseen_links ?? []).map(
      (place) => `links that an agent has not seen may be in ${place}`,
    ),
    // One line, since the order of the tools counts.
    `in the orchestrator's prompt: ${pinned.join(', ') || 'no tool'}`,
    ...network.hosts.map((host) => `http tools reach ${host}`),
    `http tools to any other host: ${network.elsewhere}`,
    ...Object.entries(agents).flatMap(([id, one]) => of(`agent ${id}: `, one)),
    ...Object.entries(principals).flatMap(([id, one]) => of(`principal ${id}: `, one)),
    ...rates.map(
      ({ tools, per, calls_per_minute: most }) =>
        `at most ${most} calls of ${tools} a minute for each ${per}`,
    ),
  ]
}

const approverLine = ({ tools, sink: of, approver }: z.infer<typeof approverRule>): string =>
  `${approver} approves ${tools}${of === undefined ? '' : ` where it does ${[of].flat().join(', ')}`}`

/** The lines that a new policy changes. Order counts: the first rule that fits decides. */
export const policyDiff = (before: ToolPolicy, after: ToolPolicy): LineDiff =>
  diffLines(policyLines(before), policyLines(after), 0)
