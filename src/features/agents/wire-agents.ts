import { defined } from '#contracts/defined.ts'
import type { Manifest, TrustTier } from '#contracts/manifest/manifest.ts'
import type { Offers, PromptListing, ResourceListing } from '#contracts/manifest/manifest-offers.ts'
import type { ListedTool } from '#runtime/catalog/types/plugin-catalog.ts'
import type { AgentDirectory, OrchestratorPrompt } from '#runtime/session/types/runtime.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import type { AgentDescriptor } from '#contracts/agent.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import type { SubAgentStopped } from '#runtime/kernel/types/policy.ts'
import { refuseLogic, registerInstructions, toAgentSpec, type AgentSource } from './agent-spec.ts'
import {
  createCodeMode,
  connectCode,
  resolveUsesTools,
  type PluginOwner,
  report,
  reportUnknown,
  toProblem,
  type EntryOwner,
} from './tool-reach.ts'
import { toManifestToolset } from './manifest-toolset.ts'
import { orchestratorDescriptor, orchestratorId, registerOrchestrator } from './orchestrator.ts'
import { createPrepareRun, type PrepareRun } from './pinned-agent.ts'
import { createStoredWiring, type StoredBase, type StoredWiringDeps } from './stored/wire-stored.ts'
import { agentToolName, createSubAgentEntry } from './sub-agent-tool.ts'
import {
  wireOrchestrator,
  type OrchestratorDeps,
  type WiredOrchestrator,
} from './wire-orchestrator.ts'

/** The resources and prompts of these plugins, by their manifests alone (P14). */
export function offersOf(
  manifests: readonly Pick<Manifest, 'id' | 'contributes'>[],
  /** Offers of servers and of the deployment itself. */
  others: readonly Offers[] = [],
): Offers {
  return {
    resources: [
      ...manifests.flatMap(({ id, contributes }) =>
        contributes.resources.map((resource) => toResource(id, resource)),
      ),
      ...others.flatMap(({ resources }) => resources),
    ],
    prompts: [
      ...manifests.flatMap(({ id, contributes }) =>
        contributes.prompts.map((prompt) => toPrompt(id, prompt)),
      ),
      ...others.flatMap(({ prompts }) => prompts),
    ],
  }
}

function toResource(
  owner: string,
  resource: Manifest['contributes']['resources'][number],
): ResourceListing {
  const { uri, uriTemplate, name, title, description, mimeType } = resource
  return {
    owner,
    uri: uri ?? uriTemplate ?? '',
    isTemplate: uri === undefined,
    name,
    ...defined({ title, description, mimeType }),
  }
}

function toPrompt(
  owner: string,
  prompt: Manifest['contributes']['prompts'][number],
): PromptListing {
  const { name, title, description } = prompt
  return {
    owner,
    name,
    ...defined({ title, description }),
    arguments: prompt.arguments.map((argument) => ({
      name: argument.name,
      ...defined({
        description: argument.description,
        required: argument.required,
        suggestions: argument.suggestions,
      }),
    })),
  }
}

/** A tool as an entry of a list. */
function toListed({ tool, isReadOnly, isIdempotent, isDestructive }: ToolEntry): ListedTool {
  const { name, description, inputSchema } = tool
  const hints = { isReadOnly, isIdempotent, isDestructive: isDestructive ?? false }
  return { name, description, inputSchema, ...hints }
}

/** A loaded plugin as this room needs it. */
export interface InstalledPlugin {
  readonly manifest: Manifest
  readonly tier: TrustTier
  readonly hash: string
  readonly files: Readonly<Record<string, string>>
  /** Its tools; with code of its own also its `<plugin>__run`. */
  readonly tools: readonly ToolEntry[]
  /** An operator has read the texts that it shows to models. */
  readonly isTold?: boolean
}

/** The parts of one generation: plugins, servers, and the core tools. */
export interface AgentWiringDeps
  extends
    Omit<OrchestratorDeps, 'codeOf'>,
    Pick<StoredWiringDeps, 'free' | 'sessions' | 'submitAs' | 'clock'> {
  readonly plugins: readonly InstalledPlugin[]
  /** Hears the outcome of each sub-agent. */
  readonly onSubAgentStopped?: SubAgentStopped | undefined
  /** Agents that write code against their tools, besides those whose manifests say so; absent: none. */
  readonly writesCode?: ((agent: string) => boolean) | undefined
}

/** The tools of one owner. */
interface WiredOwner {
  readonly entries: readonly ToolEntry[]
  readonly names: readonly string[]
  /** Only agents that name it have its tools. */
  readonly isHidden: boolean
}

/** Agents and tools of the parts that were wired together. */
interface WiredDirectory extends Pick<AgentDirectory, 'list'> {
  /** All tools, in the order of their owners. */
  readonly tools: () => readonly ListedTool[]
  readonly offers: () => Offers
}

/** The agents of one generation, and the parts of it that could not be wired. */
export interface WiredAgents extends StoredBase {
  /** By id; the orchestrator is one of them. */
  readonly agents: ReadonlyMap<string, PrepareRun>
  readonly orchestrator: Pick<WiredOrchestrator, 'as' | 'isThere'>
  readonly prompt: OrchestratorPrompt
  readonly directory: WiredDirectory
  readonly ownerOf: (id: string) => WiredOwner | undefined
  readonly problems: readonly PluginProblem[]
}

interface Owner extends PluginOwner {
  readonly plugin: InstalledPlugin
  /** Set if our kernel runs its agent. */
  readonly agent?: AgentSource
}

/**
 * Wires the orchestrator and every enabled agent, each with exactly the tools it may use. Contract: never throws for a
 * plugin's mistake, it lists the mistake in `problems` (docs/design.md invariant 7).
 */
export function wireAgents(given: AgentWiringDeps): WiredAgents {
  const { plugins, servers = [], prompts, writesCode = () => false } = given
  const problems: PluginProblem[] = []
  const owners = connectCode(
    plugins.map((plugin) => toOwner(plugin, given, problems)),
    (plugin, names) => reportUnknown(plugin, names, problems),
    servers,
  )
  const all: readonly EntryOwner[] = [...owners, ...servers]
  registerOrchestrator(prompts)
  const deps = { ...given, codeOf: createCodeMode(owners, writesCode, problems) }
  const prepareAgent = (source: AgentSource): PrepareRun => {
    const { manifest, agent } = source
    const { entries, unknown } = resolveUsesTools(agent.uses_tools, all, agent.disallowed_tools)
    reportUnknown(manifest.id, unknown, problems)
    const spec = toAgentSpec(source, prompts)
    const toolset = toManifestToolset(spec, agent, entries, deps)
    report(manifest.id, toolset, problems)
    return createPrepareRun(spec, toolset, deps)
  }
  const orchestrator = wireOrchestrator(owners, deps, problems)
  const sources = owners.flatMap(({ agent }) => agent ?? [])
  const agents = new Map<string, PrepareRun>([
    [orchestratorId, orchestrator.prepareRun],
    ...sources.map((source) => [source.manifest.id, prepareAgent(source)] as const),
  ])
  const descriptors = [orchestratorDescriptor, ...sources.map(toDescriptor)]
  const tools = all.flatMap(({ entries }) => entries.map(toListed))
  const offers = offersOf(
    plugins.map(({ manifest }) => manifest),
    servers.map((server) => server.offers),
  )
  return {
    agents,
    orchestrator,
    prompt: orchestrator.prompt,
    problems,
    storedWiring: createStoredWiring(all, deps),
    ownerOf(id) {
      const { entries } = all.find((one) => one.id === id) ?? {}
      const isHidden = servers.some((one) => one.id === id && one.isExclusive)
      return entries && { entries, names: entries.map(({ tool }) => tool.name), isHidden }
    },
    directory: { list: () => descriptors, tools: () => tools, offers: () => offers },
  }
}

const toDescriptor = ({ manifest, agent }: AgentSource): AgentDescriptor => ({
  name: manifest.id,
  description: manifest.description,
  integrationMode: agent.integration_mode,
})

/** A plugin; with its agent's tool added, if our kernel is to run that agent and can. */
function toOwner(plugin: InstalledPlugin, deps: AgentWiringDeps, problems: PluginProblem[]): Owner {
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
