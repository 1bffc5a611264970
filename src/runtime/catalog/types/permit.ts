import {
  type RequestedGrants,
  type Manifest,
  hookPoints,
  manifestSchema,
} from '#contracts/manifest/manifest.ts'
import type { ProviderKind } from '#contracts/provider.ts'
import type { SharedPart } from '#contracts/manifest/agent-manifest.ts'
import { readResourceTool, getPromptTool } from '#contracts/manifest/manifest-offers.ts'
import { emitTool } from '#contracts/event-bus.ts'
import { defined } from '#contracts/defined.ts'
import { toCanonicalJson } from '#contracts/json.ts'
import { toVisible } from '#contracts/visible-text.ts'
import { isOfThisMachine } from '#contracts/destination.ts'
import { isPublicHost } from '#platform/outbound/types.ts'
import { IsolaError } from '#contracts/errors.ts'
import { unlimited, type Limits } from '#contracts/lease.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'

/**
 * Whether a host in a manifest or a setting could ever be reached: every host (`*`), this machine in development by one
 * of its three names, or a public host, in any spelling of its address.
 */
export function isReachableHost(host: string): boolean {
  if (host === '*' || isOfThisMachine(host)) return true
  const url = `https://${host.replace(/^\*\./, '')}/`
  return URL.canParse(url) && isPublicHost(new URL(url).hostname)
}

/** A secret that a plugin asks for, or was granted, and the one place for it. */
export type SecretGrant = RequestedGrants['secrets'][number]

/** The header of a grant `in: header` that names none, as in older manifests. */
export const usualHeader = 'authorization'

/** The place of a grant as people read it: the same words for the same place, however it is written. */
export function slotText({ in: kind, at, scheme = 'hex' }: SecretGrant): string {
  switch (kind) {
    case 'header':
      return `header ${(at ?? usualHeader).toLowerCase()}`
    case 'path':
    case 'query':
      return at === undefined ? kind : `${kind} ${at}`
    case 'hmac':
      return `hmac ${scheme}`
    case 'basic':
      return kind
  }
}

/** The texts that an operator who grants the kind and a reader of its errors see. */
export const providerTexts: Readonly<Record<ProviderKind, string>> = {
  memory: 'keeps what agents remember',
  knowledge: 'keeps the documents that agents look things up in',
  context: 'chooses what of a long conversation a model reads',
}

/** A point at which hooks of plugins are called. */
export type HookPoint = (typeof hookPoints)[number]

/** The `agent` section of a manifest. */
export type AgentManifest = NonNullable<Manifest['agent']>

/** A point at which a plugin listens, and to which tools or agents. */
type HookManifest = Manifest['contributes']['hooks'][number]

/** Checks a manifest; throws `plugin_manifest_invalid` naming each path and what to do. */
export function parseManifest(value: unknown, source = 'plugin.yaml'): Manifest {
  const parsed = manifestSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map(
    (issue) => `${issue.path.join('.') || '(top level)'}: ${issue.message}`,
  )
  throw new IsolaError('plugin_manifest_invalid', `${source}: ${problems.join('; ')}`, {
    ...(parsed.error.issues[0] && { param: parsed.error.issues[0].path.join('.') }),
  })
}

const nanoPerUsd = 1_000_000_000

/** A price of a manifest in our words; nothing said is no limit. */
export const toNanoUsd = (costUsd: number | undefined): number =>
  costUsd === undefined ? unlimited : Math.round(costUsd * nanoPerUsd)

/** The `limits` of a manifest as `Limits`; an absent one has its default (Y13). */
export function toLimits(limits: AgentManifest['limits']): Limits {
  const defaults = defaultAgentLimits
  return {
    maxTokens: limits.max_tokens_per_invocation,
    maxCostNanoUsd: toNanoUsd(limits.max_cost_usd),
    ...(limits.max_platform_usd !== undefined && {
      maxPlatformNanoUsd: toNanoUsd(limits.max_platform_usd),
    }),
    maxTimeMs: limits.time_budget_ms,
    maxTurns: limits.max_turns,
    maxToolCalls: limits.max_tool_calls ?? defaults.maxToolCalls,
    maxChildren: limits.max_children ?? defaults.maxChildren,
    maxDepth: limits.max_depth ?? defaults.maxDepth,
    maxConcurrency: limits.max_concurrency ?? defaults.maxConcurrency,
  }
}

/**
 * Everything that one version of a plugin requests, as the operator sees it, as it is stored, and as it is enforced.
 * The names inside are those of `plugin.yaml`.
 */
export interface Permit {
  readonly grants: RequestedGrants
  /** Tools that its own code may call. */
  readonly usesTools: readonly string[]
  readonly hooks: readonly HookManifest[]
  /** The built-in parts that it replaces. */
  readonly providers?: readonly ProviderKind[]
  /** The tools of its agent, and the limits of a call of the agent. */
  readonly agent?: {
    readonly model: string
    readonly usesTools: readonly string[]
    readonly limits: Readonly<Record<string, number>>
    /** Tools that it may not call all the same: one fewer is more than before. */
    readonly disallowed?: readonly string[]
    /** The parts of its caller's session that it shares. */
    readonly shares?: readonly SharedPart[]
    readonly emitsSkills?: true
    readonly writesCode?: true
    /** The memory and documents that its window gets without a request. */
    readonly memory?: readonly string[]
    /** Events that begin a run of it. */
    readonly subscribes?: readonly string[]
  }
  readonly schedule?: string
  /** Its events that every principal may subscribe to. */
  readonly publishes?: readonly string[]
  /** Its tools of which each call needs an approval: removing one widens the permit. */
  readonly approvals?: readonly string[]
  /** Its tools that need no approval: adding one widens a permit that has `approvals`. */
  readonly free?: readonly string[]
  /** Its tools that declare themselves destructive: removing one widens the permit. */
  readonly destructive?: readonly string[]
  /** The declared sinks of its tools (`pay: spend`): removing one widens the permit. */
  readonly sinks?: readonly string[]
}

/** The permit that a manifest requests. */
export function toPermit({ grants, uses_tools, contributes, agent, schedule }: Manifest): Permit {
  const { tools } = contributes
  const approvals = namesOf(tools.filter((tool) => tool.requires_approval))
  const free = [
    ...namesOf(tools.filter((tool) => !tool.requires_approval)),
    ...(contributes.resources.length > 0 ? [readResourceTool] : []),
    ...(contributes.prompts.length > 0 ? [getPromptTool] : []),
    ...(contributes.events.length > 0 ? [emitTool] : []),
  ]
  const destructive = namesOf(tools.filter(({ annotations }) => annotations.destructiveHint))
  const sinks = tools.flatMap(({ name, sink = [] }) => sink.map((one) => `${name}: ${one}`))
  const publishes = contributes.events.flatMap((one) => (one.public ? [one.name] : []))
  const { disallowed_tools: disallowed = [], shares = [] } = agent ?? {}
  return {
    grants,
    usesTools: uses_tools,
    hooks: contributes.hooks,
    ...filled({ providers: contributes.providers }),
    ...(agent && {
      agent: {
        model: agent.model,
        usesTools: agent.uses_tools,
        limits: limitsOf(agent.limits),
        ...filled({ disallowed, shares }),
        ...(agent.allow_skill_emission && { emitsSkills: true }),
        ...(agent.code_mode && { writesCode: true }),
        ...((agent.memory ?? agent.knowledge) && { memory: memoryOf(agent) }),
        ...(agent.subscribes && { subscribes: agent.subscribes.map(({ event }) => event) }),
      },
    }),
    ...defined({ schedule }),
    ...filled({ publishes, approvals, free, destructive, sinks }),
  }
}

/** The lists that are not empty. */
const filled = <Lists extends Readonly<Record<string, readonly unknown[]>>>(lists: Lists) =>
  Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)) as Partial<Lists>

const memoryOf = ({
  memory,
  knowledge,
}: Pick<AgentManifest, 'memory' | 'knowledge'>): readonly string[] => [
  ...(!memory || memory.hydrate === 'none'
    ? []
    : memory.scope.map((one) => `is reminded of what is remembered (${one})`)),
  ...(!memory || memory.write === 'none' ? [] : ['keeps what is said to it beyond the session']),
  ...(knowledge && knowledge.hydrate > 0
    ? knowledge.scope.map((one) => `is shown passages of documents (${one})`)
    : []),
]

const namesOf = (tools: Manifest['contributes']['tools']): readonly string[] =>
  tools.map(({ name }) => name)

/** Whether two permits are equal, in whatever order they are written. */
export const isSamePermit = (a: Permit, b: Permit): boolean =>
  toCanonicalJson(a) === toCanonicalJson(b)

/** One request of a permit. A larger amount requests more. */
export interface PermitLine {
  readonly text: string
  readonly amount?: number
}

/**
 * A permit in lines that a person can read, one for each thing that can be had. None: it asks for nothing. What hides
 * in
 * it is written as its code, so that no line is two, or another.
 */
export const permitLines = (permit: Permit): readonly PermitLine[] =>
  linesOf(permit).map((line) => ({ ...line, text: toVisible(line.text) }))

function linesOf({
  grants,
  usesTools,
  hooks,
  providers,
  agent,
  schedule,
  publishes = [],
}: Permit): readonly PermitLine[] {
  const { network, secrets, storage, model, request, workspace, memory, database, isolate } = grants
  const each = (texts: readonly string[] | undefined, before: string) =>
    linesFor(texts, (text) => `${before}${text}`)
  const only = (isAsked: unknown, text: string) => (isAsked ? [{ text }] : [])
  return [
    ...network.flatMap(({ host, methods }) =>
      linesFor(methods, (method) => `network: ${method} ${host}`),
    ),
    ...secrets.map((secret) => {
      const to = secret.host === undefined ? '' : ` to ${secret.host}`
      return { text: `secret: ${secret.name} (${slotText(secret)}${to})` }
    }),
    ...(storage
      ? [{ text: `storage of each ${storage.scope}, bytes`, amount: toBytes(storage.quota) }]
      : []),
    ...modelLines(model),
    ...linesFor(request, (kind) => `request: ${requestTexts[kind]}`),
    ...only(workspace, 'workspace: files of the session'),
    ...only(memory, 'memory: notes of the session'),
    ...only(database, `database: ${database?.access} ${database?.binding}`),
    ...only(isolate, 'isolate: runs code that a model wrote'),
    ...each(usesTools, 'tools: its code calls '),
    ...hooks.map(({ on, match }) => ({ text: `hook: ${on} of ${match}` })),
    ...linesFor(providers, (kind) => `provider: ${providerTexts[kind]} (${kind})`),
    ...(agent ? agentLines(agent) : []),
    ...(schedule === undefined ? [] : [{ text: `schedule: ${schedule}` }]),
    ...each(publishes, 'event: everybody may subscribe to '),
  ]
}

const linesFor = <Item>(
  items: readonly Item[] = [],
  textOf: (item: Item) => string,
): readonly PermitLine[] => items.map((item) => ({ text: textOf(item) }))

function agentLines(agent: NonNullable<Permit['agent']>): readonly PermitLine[] {
  return [
    { text: `agent: runs on ${agent.model}` },
    ...linesFor(agent.usesTools, (name) => `agent: calls ${name}`),
    ...linesFor(agent.shares, (part) => `agent: shares ${part} with its caller`),
    ...(agent.emitsSkills ? [{ text: 'agent: writes drafts of skills' }] : []),
    ...(agent.writesCode ? [{ text: 'agent: writes code that calls its tools' }] : []),
    ...linesFor(agent.memory, (what) => `agent: ${what}`),
    ...Object.entries(agent.limits).map(([name, amount]) => ({ text: `agent: ${name}`, amount })),
    ...linesFor(agent.subscribes, (event) => `agent: is run by the event ${event}`),
  ]
}

const requestTexts = {
  elicit: 'asks the person who uses it',
  sample: 'asks the model of the client',
  roots: 'asks the client which places it works in',
} as const

function modelLines(model: RequestedGrants['model']): readonly PermitLine[] {
  if (!model) return []
  const { max_tokens: tokens, max_cost_usd: cost, models = ['any model'] } = model
  return [
    { text: 'model: tokens of each call', amount: tokens },
    // Without a limit in dollars, only its token limit bounds the cost.
    { text: 'model: US dollars of each call', amount: cost ?? Number.MAX_SAFE_INTEGER },
    ...models.map((name) => ({ text: `model: ${name}` })),
  ]
}

/** Tools that lose their approval, or that came without one beside tools that need one. */
function freed(next: Permit, before: Permit | undefined): readonly string[] {
  if (!before?.approvals) return []
  const dropped = gone(before.approvals, next.approvals)
  const came = gone(next.free, before.free)
  return [...new Set([...dropped, ...came])]
}

/** The limits of an agent, with defaults for the limits that its manifest leaves out. */
function limitsOf(limits: AgentManifest['limits']): Readonly<Record<string, number>> {
  const { maxToolCalls, maxDepth, maxConcurrency, maxChildren } = toLimits(limits)
  return {
    max_turns: limits.max_turns,
    max_tokens_per_invocation: limits.max_tokens_per_invocation,
    time_budget_ms: limits.time_budget_ms,
    max_cost_usd: limits.max_cost_usd ?? Number.MAX_SAFE_INTEGER,
    max_tool_calls: maxToolCalls,
    max_depth: maxDepth,
    max_concurrency: maxConcurrency,
    max_children: maxChildren,
    // Only where it is limited: a permit from before this limit existed does not limit it.
    ...defined({ max_platform_usd: limits.max_platform_usd }),
  }
}

const platformLine = 'agent: max_platform_usd'

/** The lines of a permit that another one does not cover: an operator has to grant them. */
export function widened(next: Permit, before: Permit | undefined): readonly PermitLine[] {
  const had = new Map(before ? permitLines(before).map((line) => [line.text, line]) : [])
  const more = permitLines(next).filter(({ text, amount }) => {
    const old = had.get(text)
    if (!old) return !before?.agent || text !== platformLine
    return (amount ?? 0) > (old.amount ?? 0)
  })
  const free = linesFor(freed(next, before), (name) => `tool: ${name} without anybody's approval`)
  const harmless = linesFor(
    gone(before?.destructive, next.destructive),
    (name) => `tool: ${name} does not say any more that it destroys`,
  )
  const unsaid = linesFor(
    gone(before?.sinks, next.sinks),
    (said) => `tool: does not say any more what it does outward (${said})`,
  )
  const reached = linesFor(gone(before?.agent?.disallowed, next.agent?.disallowed), (name) =>
    toVisible(`agent: ${name} is not disallowed any more`),
  )
  const isFree = next.agent && !permitLines(next).some(({ text }) => text === platformLine)
  const unlimited =
    isFree && had.has(platformLine)
      ? [{ text: 'agent: what it costs the platform is not limited any more' }]
      : []
  return [...more, ...free, ...harmless, ...unsaid, ...reached, ...unlimited]
}

/** The names in the first list that the second has not. */
const gone = (had: readonly string[] = [], has: readonly string[] = []): readonly string[] =>
  had.filter((name) => !has.includes(name))

/** A quota such as `64kb` or `1mb` in bytes. */
export const toBytes = (quota: string): number =>
  Number.parseInt(quota, 10) * (quota.endsWith('mb') ? 1024 * 1024 : 1024)
