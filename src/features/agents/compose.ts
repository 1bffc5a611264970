import type { Planner, Reflector } from '#runtime/kernel/types/plan.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import { policyOf, type PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import { onDemandId } from '#contracts/stored-agent.ts'
import type { KnowledgeSettings } from '#contracts/manifest/knowledge-settings.ts'
import type { MemorySettings } from '#contracts/manifest/memory-settings.ts'
import type { MoreTools, SchemaValidator, ToolContext } from '#contracts/tool.ts'
import { createAgentDirectory, type AgentDirectoryDeps } from './agent-directory.ts'
import { withCompaction } from './compaction-run.ts'
import { directPlanner, directReflector } from './direct-call.ts'
import { withMonitor } from './floor-monitor.ts'
import { createLiveDirectory, type LiveDirectoryDeps } from './live-directory.ts'
import { orchestratorId } from './orchestrator.ts'
import { createFinishReflector, modelPlanner } from './model-planner.ts'
import { createAgentAdministration } from './stored/administration.ts'
import { createRunnable } from './stored/runnable.ts'
import type { AgentAdministrationDeps } from './stored/taking.ts'

type DirectoryParts = Omit<
  AgentDirectoryDeps,
  | 'plugins'
  | 'servers'
  | 'prompts'
  | 'beyond'
  | 'readsNarrowly'
  | 'writesCode'
  | 'emitsSkills'
  | 'pinned'
>

interface Loaded {
  readonly plugins: AgentDirectoryDeps['plugins'] &
    readonly { readonly manifest: { readonly id: string } }[]
  readonly problems: readonly PluginProblem[]
}

interface Remote {
  readonly servers: NonNullable<AgentDirectoryDeps['servers']>
  readonly problems: readonly PluginProblem[]
}

export interface AgentParts<T extends Loaded> extends DirectoryParts {
  readonly installed: Pick<
    LiveDirectoryDeps<never>,
    'snapshot' | 'latest' | 'around' | 'search' | 'tools' | 'toolNames'
  >
  readonly initial: PluginSnapshot
  readonly onFault: (error: unknown) => void
  readonly stored: Omit<AgentAdministrationDeps, 'prepare' | 'isTaken' | 'forget'>
  /** Owners of tools that are no part of what is installed, and always there. */
  readonly own: Remote['servers']
  readonly createPrompts: () => AgentDirectoryDeps['prompts']
  /** The plugins of a generation, by their manifests alone. */
  readonly load: (snapshot: PluginSnapshot) => T
  /** Its remote servers, beside plugins of these ids. */
  readonly wireServers: (snapshot: PluginSnapshot, taken: readonly string[]) => Remote
}

/** The agents of whatever is enabled, wired anew with each generation. */
export function composeAgents<T extends Loaded>(parts: AgentParts<T>) {
  const { installed, initial, onFault, load, wireServers, own, createPrompts, stored, ...rest } =
    parts
  const wire = (snapshot: PluginSnapshot, beyond?: MoreTools) => {
    const loaded = load(snapshot)
    const remote = wireServers(
      snapshot,
      loaded.plugins.map(({ manifest }) => manifest.id),
    )
    const { plugins } = loaded
    const servers = [...own, ...remote.servers]
    const prompts = createPrompts()
    const {
      narrow_reading: narrow,
      code_mode: code,
      allow_skill_emission: emitsSkills,
      pinned,
      allow_destructive: free,
    } = policyOf(snapshot)
    const [readsNarrowly, writesCode] = [narrow, code].map(
      (agents = []) =>
        (agent: string) =>
          agents.includes(agent) || agents.includes('*'),
    )
    const modes = { readsNarrowly, writesCode, emitsSkills }
    const given = { plugins, servers, prompts, beyond, ...modes, pinned, free }
    const catalog = createAgentDirectory({ ...rest, ...given })
    const { directory, ownerOf, prompt, stored } = catalog
    const problems = [...loaded.problems, ...remote.problems, ...catalog.problems]
    return { ...loaded, directory, ownerOf, prompt, stored, problems }
  }
  const { forget, ...known } = createRunnable(stored)
  const { runnable } = known
  const live = createLiveDirectory({ ...installed, ...known, initial, onFault, build: wire })
  const { prepare, directory } = live
  const isTaken = async (id: string) =>
    live.current().ownerOf(id) !== undefined || (await directory.toolNames([`${id}__*`])).length > 0
  const administration = createAgentAdministration({ ...stored, prepare, isTaken, forget })
  /** Whether one that is at work may go on. A database that is away stops nothing that was let begin. */
  const mayRun = async (id: string, principal: string): Promise<boolean> =>
    id === onDemandId ||
    (await runnable(principal, id)
      .then((found) => found !== undefined)
      .catch(() => true))
  /** What an agent says of memory and documents, in whose run it is. */
  const remembersOf = async (
    agent: string,
    { principal, options }: Pick<ToolContext, 'principal' | 'options'>,
  ): Promise<Remembers | undefined> => {
    if (agent === onDemandId) return options.onDemand?.definition.agent
    if (agent === orchestratorId) return undefined
    const plugin = (await live.now()).plugins.find(({ manifest }) => manifest.id === agent)
    if (plugin) return plugin.manifest.agent
    return (await runnable(principal, agent))?.definition.agent
  }
  return { wire, administration, mayRun, remembersOf, ...live }
}

interface Remembers {
  readonly memory?: MemorySettings | undefined
  readonly knowledge?: KnowledgeSettings | undefined
}

/** Who plans and reflects. */
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
