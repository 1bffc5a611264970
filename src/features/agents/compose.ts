import type { Planner, Reflector } from '#runtime/kernel/types/plan.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import { policyOf, type PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import { onDemandId } from '#runtime/session/types/agent-schedules.ts'
import type { KnowledgeSettings, MemorySettings } from '#contracts/manifest/agent-manifest.ts'
import type { MoreTools } from '#runtime/catalog/types/skill.ts'
import type { SchemaValidator, ToolContext } from '#contracts/tool.ts'
import { directPlanner, directReflector, withMonitor } from './direct-call.ts'
import { createDirectory, type DirectoryDeps } from './directory.ts'
import { createGenerations, type GenerationsDeps } from './generations.ts'
import { createAgentLoader, type LoadAgentDeps } from './load-agent.ts'
import { createFinishReflector, modelPlanner, withCompaction } from './model-planner.ts'
import { orchestratorId } from './orchestrator.ts'
import { createAgentAdministration } from './stored/administration.ts'
import { createRunnable } from './stored/runnable.ts'
import type { AgentAdministrationDeps } from './stored/taking.ts'
import { toFindable } from './stored/wire-stored.ts'
import {
  wireAgents,
  type AgentWiringDeps,
  type InstalledPlugin,
  type WiredAgents,
} from './wire-agents.ts'
import type { ServerOwner } from './wire-orchestrator.ts'

interface Loaded {
  readonly plugins: readonly InstalledPlugin[]
  readonly problems: readonly PluginProblem[]
}

interface Remote {
  readonly servers: readonly ServerOwner[]
  readonly problems: readonly PluginProblem[]
}

/** The parts of a wiring that come with each generation. */
type OfGeneration =
  | 'plugins'
  | 'servers'
  | 'prompts'
  | 'beyond'
  | 'readsNarrowly'
  | 'writesCode'
  | 'emitsSkills'
  | 'pinned'
  | 'free'

interface AgentParts<T extends Loaded>
  extends
    Omit<AgentWiringDeps, OfGeneration>,
    Pick<LoadAgentDeps, 'persona' | 'withOutside'>,
    Pick<GenerationsDeps<WiredAgents>, 'initial' | 'onFault'> {
  readonly installed: Pick<
    GenerationsDeps<WiredAgents> & DirectoryDeps,
    'snapshot' | 'latest' | 'around' | 'search' | 'tools' | 'toolNames'
  >
  readonly storedAgents: Omit<AgentAdministrationDeps, 'prepare' | 'isTaken' | 'forget'>
  /** Owners of tools that are part of the deployment itself. */
  readonly own: Remote['servers']
  readonly createPrompts: () => AgentWiringDeps['prompts']
  /** The plugins of a generation, by their manifests alone. */
  readonly load: (snapshot: PluginSnapshot) => T
  /** Its remote servers, beside plugins of these ids. */
  readonly wireServers: (snapshot: PluginSnapshot, taken: readonly string[]) => Remote
}

/** The agents of the generation in force. */
export function composeAgents<T extends Loaded>(parts: AgentParts<T>) {
  const { installed, storedAgents, persona, withOutside, count } = parts
  const build = (snapshot: PluginSnapshot, beyond?: MoreTools) => wire(parts, snapshot, beyond)
  const { forget, ...lookups } = createRunnable(storedAgents)
  const { runnable, listRunnable } = lookups
  const toEntry = toFindable(parts)
  const findable = async (by: string) => (await listRunnable(by)).map(toEntry)
  const generations = createGenerations({ ...parts, ...installed, runnable, findable, build })
  const { inForce, last, refresh } = generations
  const load = createAgentLoader({ ...generations, persona, withOutside, count })
  const directory = createDirectory({ ...installed, ...lookups, load, generations, build })
  const administration = createAgentAdministration({
    ...storedAgents,
    forget,
    prepare: async (...asked) => (await inForce()).stored.prepare(...asked),
    isTaken: async (id) =>
      last().wired.ownerOf(id) !== undefined ||
      (await directory.toolNames([`${id}__*`])).length > 0,
  })
  /** Whether a running agent may continue. A database that is away stops no run that was allowed to begin. */
  const mayRun = async (id: string, principal: string): Promise<boolean> =>
    id === onDemandId ||
    (await runnable(principal, id)
      .then((found) => found !== undefined)
      .catch(() => true))
  /** The settings of memory and documents of the agent whose run it is. */
  const remembersOf = async (
    agent: string,
    { principal, options }: Pick<ToolContext, 'principal' | 'options'>,
  ): Promise<Remembers | undefined> => {
    if (agent === onDemandId) return options.onDemand?.definition.agent
    if (agent === orchestratorId) return undefined
    const { plugins } = (await inForce()).wired
    const plugin = plugins.find(({ manifest }) => manifest.id === agent)
    if (plugin) return plugin.manifest.agent
    return (await runnable(principal, agent))?.definition.agent
  }
  return {
    wire: build,
    directory,
    administration,
    refresh,
    mayRun,
    remembersOf,
    /** The wired parts of the generation in force. Rejects if the Catalog never gave one. */
    inForce: async () => (await inForce()).wired,
    /** The parts that this isolate wired last, without a read. */
    last: () => last().wired,
  }
}

/** Wires the plugins and servers of a generation under its policy. */
function wire<T extends Loaded>(
  { load, wireServers, own, createPrompts, ...parts }: AgentParts<T>,
  snapshot: PluginSnapshot,
  beyond: MoreTools | undefined,
) {
  const loaded = load(snapshot)
  const ids = loaded.plugins.map(({ manifest }) => manifest.id)
  const remote = wireServers(snapshot, ids)
  const policy = policyOf(snapshot)
  const wired = wireAgents({
    ...parts,
    beyond,
    plugins: loaded.plugins,
    servers: [...own, ...remote.servers],
    prompts: createPrompts(),
    readsNarrowly: isListedIn(policy.narrow_reading),
    writesCode: isListedIn(policy.code_mode),
    emitsSkills: policy.allow_skill_emission,
    pinned: policy.pinned,
    free: policy.allow_destructive,
  })
  const problems = [...loaded.problems, ...remote.problems, ...wired.problems]
  return { ...loaded, ...wired, problems }
}

const isListedIn =
  (agents: readonly string[] = []) =>
  (agent: string): boolean =>
    agents.includes(agent) || agents.includes('*')

interface Remembers {
  readonly memory?: MemorySettings | undefined
  readonly knowledge?: KnowledgeSettings | undefined
}

/** The planners and reflectors of a run. */
export const composeThinking = (
  around: (planner: Planner) => Planner,
  validator: SchemaValidator,
) => ({
  planner: withCompaction(around(modelPlanner)),
  reflector: createFinishReflector(validator),
  direct: {
    planner: around(withMonitor(directPlanner, modelPlanner)),
    reflector: directReflector satisfies Reflector,
  },
})
