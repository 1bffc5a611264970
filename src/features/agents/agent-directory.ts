import type { AgentDescriptor } from '#contracts/agent.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { TokenCounter } from '#contracts/context.ts'
import type { Manifest, TrustTier } from '#contracts/manifest/manifest.ts'
import type { Offers } from '#contracts/manifest/offer.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import type { SubAgentStopped } from '#runtime/kernel/types/policy.ts'
import type { PromptStore } from '#contracts/prompt.ts'
import type { IsThere, Persona } from '#runtime/catalog/types/skill.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type {
  AgentDirectory,
  ListedTool,
  OrchestratorPrompt,
} from '#runtime/session/types/runtime.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Clock } from '#contracts/sources.ts'
import type { SubmitAs } from '#runtime/session/types/submit-as.ts'
import type { MoreTools, ToolEntry, Toolset } from '#contracts/tool.ts'
import { refuseLogic, registerInstructions, toAgentSpec, type AgentSource } from './agent-spec.ts'
import type { BuildToolset } from './build-toolset.ts'
import { createCodeMode, type CodeOf } from './code-mode.ts'
import { connectCode } from './code-reach.ts'
import { orchestratorDescriptor, orchestratorId, registerOrchestrator } from './orchestrator.ts'
import { narrowReadingOf, toManifestToolset } from './manifest-toolset.ts'
import { offersOf, toListed } from './offers.ts'
import { createLoader, type LoadAgent, type PinningDeps } from './pinned-agent.ts'
import { personaFor, type PersonaDeps } from './personas.ts'
import { createStoredWiring, type StoredWiring, type StoredWiringDeps } from './stored/prepare.ts'
import { agentToolName, createSubAgentEntry } from './sub-agent-tool.ts'
import { resolveUsesTools, type ToolOwner } from './tool-reach.ts'
import { wireOrchestrator } from './wire-orchestrator.ts'
import { report, reportUnknown, toProblem } from './wiring-problems.ts'

/** A loaded plugin as this room needs it. */
export interface InstalledPlugin {
  readonly manifest: Manifest
  readonly tier: TrustTier
  readonly hash: string
  readonly files: Readonly<Record<string, string>>
  /** Its tools; with code of its own also its `<plugin>__run`. */
  readonly tools: readonly ToolEntry[]
  /** An operator has read what it tells models of itself. */
  readonly isTold?: boolean
}

/** What a directory of agents is made from: plugins, servers, and the core tools. */
export interface AgentDirectoryDeps
  extends PinningDeps, Omit<PersonaDeps, 'isThere'>, Pick<StoredWiringDeps, 'free'> {
  /** Whether somebody who reaches these has what a skill requires. */
  readonly presence: (reach: readonly ToolEntry[], beyond: MoreTools | undefined) => IsThere
  readonly plugins: readonly InstalledPlugin[]
  /** Owners of tools that are no plugins. An exclusive one's are not the orchestrator's. */
  readonly servers?: readonly (ToolOwner & {
    readonly isExclusive: boolean
    readonly offers: Offers
  })[]
  readonly prompts: PromptStore
  readonly sessions: SessionGateway
  readonly submitAs: SubmitAs
  readonly clock: Clock
  /** Told what came of each sub-agent. */
  readonly onSubAgentStopped?: SubAgentStopped | undefined
  readonly createToolset: BuildToolset
  /** Adds what the client of one run does or answers itself. */
  readonly withOutside: (toolset: Toolset, options: RunOptions) => Toolset
  /** What the orchestrator reaches besides, by name. */
  readonly beyond?: MoreTools | undefined
  /** Which agents do not see what strangers wrote; none if left out. */
  readonly readsNarrowly?: ((agent: string) => boolean) | undefined
  /** Which agents write code against their tools, besides those whose manifest says so; none if left out. */
  readonly writesCode?: ((agent: string) => boolean) | undefined
  /** Whether the orchestrator may keep drafts of skills; other agents say so in their manifests. */
  readonly emitsSkills?: boolean | undefined
  /** Full names of what the orchestrator's model sees from the start, the most wanted first. */
  readonly pinned: readonly string[]
  readonly count: TokenCounter
  /** What the orchestrator reaches; everything if left out. */
  readonly orchestratorUsesTools?: readonly string[]
}

/** The tools, resources and prompts of one owner. */
export interface WiredOwner {
  readonly entries: readonly ToolEntry[]
  readonly names: readonly string[]
  /** Only agents that name it have its tools. */
  readonly isHidden: boolean
}

/** Agents and tools of the parts that were wired together. */
export interface WiredDirectory extends Pick<AgentDirectory, 'load' | 'list'> {
  /** All tools, in the order of their owners. */
  readonly tools: () => readonly ListedTool[]
  readonly offers: () => Offers
}

/** The agents of one generation, and what of it could not be wired. */
export interface AgentCatalog {
  readonly directory: WiredDirectory
  readonly ownerOf: (id: string) => WiredOwner | undefined
  readonly problems: readonly PluginProblem[]
  readonly prompt: OrchestratorPrompt
  /** Agents without a plugin, among these tools. */
  readonly stored: StoredWiring
}

type Given = AgentDirectoryDeps & { readonly codeOf: CodeOf }

interface Owner extends ToolOwner {
  readonly plugin: InstalledPlugin
  /** Set if our kernel runs its agent. */
  readonly agent?: AgentSource
}

/**
 * The orchestrator and every agent that is enabled, each with exactly the tools it may use. Built once; contract:
 * does not throw for what a plugin got wrong, that is listed in `problems` (docs/design.md invariant 7).
 */
export function createAgentDirectory(deps: AgentDirectoryDeps): AgentCatalog {
  const problems: PluginProblem[] = []
  const owners = connectCode(
    deps.plugins.map((plugin) => toOwner(plugin, deps, problems)),
    (plugin, names) => reportUnknown(plugin, names, problems),
    deps.servers,
  )
  registerOrchestrator(deps.prompts)
  const codeOf = createCodeMode(owners, deps.writesCode ?? (() => false), problems)
  const given = { ...deps, codeOf }
  const orchestrator = prepareOrchestrator(owners, given, problems)
  const agents = new Map<string, LoadAgent>([[orchestratorId, orchestrator.load]])
  for (const owner of owners) {
    if (owner.agent) agents.set(owner.id, prepareAgent(owner.agent, owners, given, problems))
  }
  const descriptors = [
    orchestratorDescriptor,
    ...owners.flatMap((owner) => (owner.agent ? [toDescriptor(owner.agent)] : [])),
  ]
  const tools = withServers(owners, deps).flatMap(({ entries }) => entries.map(toListed))
  const offers = offersOf(
    deps.plugins.map(({ manifest }) => manifest),
    deps.servers?.map((server) => server.offers),
  )
  return {
    problems,
    prompt: orchestrator.prompt,
    stored: createStoredWiring(withServers(owners, deps), {
      ...given,
      isThere: orchestrator.isThere,
    }),
    ownerOf: (id) => {
      const owner = withServers(owners, deps).find((one) => one.id === id)
      const isHidden = deps.servers?.some((one) => one.id === id && one.isExclusive) ?? false
      const { entries } = owner ?? {}
      return entries && { entries, names: entries.map(({ tool }) => tool.name), isHidden }
    },
    directory: {
      async load(agent, options, use = {}) {
        // One that goes on has the voice that it began with.
        const wanted = { asked: options.persona, otherwise: use.persona }
        const persona = use.pinned
          ? undefined
          : await personaFor(agent, wanted, { ...deps, ...orchestrator })
        const load = persona?.text === undefined ? agents.get(agent) : orchestrator.as(persona)
        const ready = load?.(options, use)
        if (!ready) return undefined
        const { spec } = ready
        return {
          ...ready,
          spec: persona && !spec.persona ? { ...spec, persona } : spec,
          toolset: deps.withOutside(ready.toolset, options),
        }
      },
      list: () => descriptors,
      tools: () => tools,
      offers: () => offers,
    },
  }
}

const withServers = (
  owners: readonly Owner[],
  { servers = [] }: Pick<AgentDirectoryDeps, 'servers'>,
): readonly ToolOwner[] => [...owners, ...servers]

function toDescriptor({ manifest, agent }: AgentSource): AgentDescriptor {
  return {
    name: manifest.id,
    description: manifest.description,
    integrationMode: agent.integration_mode,
  }
}

/** A plugin with its agent's tool added, if our kernel is to run that agent and can. */
function toOwner(
  plugin: InstalledPlugin,
  deps: AgentDirectoryDeps,
  problems: PluginProblem[],
): Owner {
  const { manifest, files, tier, hash, tools, isTold } = plugin
  const base: Owner = { id: manifest.id, plugin, entries: tools }
  const { agent } = manifest
  const hasOwnCode = tools.some(({ tool }) => tool.name === agentToolName(manifest.id))
  if (!agent || hasOwnCode) return base
  const source: AgentSource = { manifest, agent, files }
  try {
    if (manifest.id === orchestratorId)
      throw new IsolaError('plugin_name_collision', `the agent id ${orchestratorId} is taken`)
    if (tier !== 'builtin') refuseLogic(source)
    registerInstructions(source, deps.prompts)
  } catch (error) {
    problems.push(toProblem(manifest.id, error))
    return base
  }
  const { sessions, submitAs, clock, onSubAgentStopped: onStopped } = deps
  const about = { manifest, agent, hash, tier, isTold, sessions, submitAs, clock, onStopped }
  return { ...base, agent: source, entries: [...tools, createSubAgentEntry(about)] }
}

function reach(
  who: string,
  usesTools: readonly string[],
  owners: readonly ToolOwner[],
  problems: PluginProblem[],
): readonly ToolEntry[] {
  const { entries, unknown } = resolveUsesTools(usesTools, owners)
  reportUnknown(who, unknown, problems)
  return entries
}

function prepareAgent(
  source: AgentSource,
  owners: readonly Owner[],
  deps: Given,
  problems: PluginProblem[],
): LoadAgent {
  const { uses_tools: uses, disallowed_tools: disallowed } = source.agent
  const { entries, unknown } = resolveUsesTools(uses, withServers(owners, deps), disallowed)
  reportUnknown(source.manifest.id, unknown, problems)
  const spec = toAgentSpec(source, deps.prompts)
  const toolset = toManifestToolset(spec, source.agent, entries, deps)
  report(source.manifest.id, toolset, problems)
  return createLoader(spec, toolset, deps)
}

function prepareOrchestrator(owners: readonly Owner[], deps: Given, problems: PluginProblem[]) {
  const { servers = [], orchestratorUsesTools, prompts, count } = deps
  const code = deps.codeOf(orchestratorId)
  const pinned = code ? [] : deps.pinned
  const everything = [...owners, ...servers.filter(({ isExclusive }) => !isExclusive)]
  const uses = orchestratorUsesTools ?? everything.map(({ id }) => id)
  const entries = reach(orchestratorId, uses, withServers(owners, deps), problems)
  const build = (isPinned: (entry: ToolEntry) => boolean) =>
    deps.createToolset(entries, {
      core: 'with-core-tools',
      isPinned,
      beyond: deps.beyond,
      code,
      narrowReading: narrowReadingOf({ id: orchestratorId, model: undefined }, deps),
      emitsSkills: deps.emitsSkills,
    })
  const reached = new Set(entries.map(({ tool }) => tool.name))
  const shownOf: Parameters<typeof wireOrchestrator>[0]['shownOf'] = (names, others) =>
    owners.map((owner) => ({
      ...toPinned(owner, names),
      ...(others === 'with-agents-that-ship' && toFound(owner, reached)),
    }))
  const wire = (persona?: Persona) =>
    wireOrchestrator({ pinned, entries, build, shownOf, prompts, persona, count, code })
  const wired = wire()
  report(orchestratorId, wired.toolset, problems)
  problems.push(...wired.problems)
  const loaderOf = ({ spec, toolset }: typeof wired) => createLoader(spec, toolset, deps)
  const voices = new Map<string, LoadAgent>()
  return {
    isThere: deps.presence(entries, deps.beyond),
    load: loaderOf(wired),
    /** The same with a voice; each is made ready once. */
    as(persona: Persona): LoadAgent {
      // The same text may have another name, or be a stranger's by now.
      const key = JSON.stringify([persona.name, persona.hash, persona.label])
      const known = voices.get(key) ?? loaderOf(wire(persona))
      voices.set(key, known)
      return known
    },
    prompt: wired.prompt,
  }
}

/** The agent of a plugin that ships, where the orchestrator reaches it. */
function toFound({ id, plugin: { manifest, tier } }: Owner, reached: ReadonlySet<string>) {
  const name = agentToolName(id)
  const isThere = tier === 'builtin' && manifest.agent !== undefined && reached.has(name)
  return isThere ? { foundAgentName: name } : {}
}

function toPinned({ plugin: { manifest }, entries }: Owner, visible: ReadonlySet<string>) {
  const names = entries.map(({ tool }) => tool.name).filter((name) => visible.has(name))
  const agentName = names.find((name) => manifest.agent && name === agentToolName(manifest.id))
  return {
    manifest,
    toolNames: names.filter((name) => name !== agentName),
    ...(agentName !== undefined && { agentName }),
  }
}
