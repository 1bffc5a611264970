import { headManifest, instructionsFile, toManifest } from '../types.ts'
import type { PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import { sink } from '#contracts/label.ts'
import type { AgentDirectory } from '#runtime/session/types/runtime.ts'
import type { RunnableAgent } from '#contracts/manifest/agent-definition.ts'
import type { RunnableListing } from '#runtime/session/types/agent-schedules.ts'
import type { ToolEntry, Toolset } from '#contracts/tool.ts'
import { ownerOf } from '#runtime/catalog/types/skill.ts'
import { isMatchOfAny } from '#runtime/kernel/types/tool-policy.ts'
import { refuseLogic, registerInstructions, toAgentSpec, type AgentSource } from '../agent-spec.ts'
import { toManifestToolset, type ManifestToolsetDeps } from '../manifest-toolset.ts'
import { createPrepareRun, type PinningDeps, type PrepareRun } from '../pinned-agent.ts'
import { agentToolName, createSubAgentEntry, type SubAgentOptions } from '../sub-agent-tool.ts'
import { resolveUsesTools, type EntryOwner } from '../tool-reach.ts'

type ChildDeps = Pick<SubAgentOptions, 'sessions' | 'submitAs' | 'clock'>

/** Stored agents are wired from the same parts as agents of plugins. */
export interface StoredWiringDeps extends PinningDeps, ManifestToolsetDeps, ChildDeps {
  readonly prompts: Parameters<typeof registerInstructions>[1]
  readonly onSubAgentStopped?: SubAgentOptions['onStopped']
  /** Tools that destroy and that the deployment lets every agent call without approval. */
  readonly free?: readonly string[] | undefined
}

/** A stored agent with the tools that it reaches. */
export interface PreparedAgent {
  readonly prepareRun: PrepareRun
  /** Full names of tools that it names without a grant: they destroy, or send something out. */
  readonly withheld: readonly string[]
  /** Names in its `uses_tools` that fit nothing here. */
  readonly unknown: readonly string[]
}

/** Wires stored agents among the tools of one generation. */
interface StoredWiring {
  /** Throws `plugin_prompt_invalid`. `more`: the stored agents that it names, as tools. */
  readonly prepare: (agent: RunnableAgent, more: readonly ToolEntry[]) => PreparedAgent
  /** The agent as a tool. Its own session checks again whether the caller may run it. */
  readonly entryOf: (agent: RunnableAgent) => ToolEntry
}

/** The tools of a set of parts, and stored agents wired among them. */
export interface StoredBase {
  readonly ownerOf: (id: string) => object | undefined
  readonly storedWiring: StoredWiring
}

export function createStoredWiring(
  owners: readonly EntryOwner[],
  deps: StoredWiringDeps,
): StoredWiring {
  const { sessions, submitAs, clock, onSubAgentStopped: onStopped, free = [] } = deps
  const sourceOf = ({ definition, hash }: RunnableAgent): AgentSource => {
    const manifest = toManifest(definition, hash)
    const files = { [instructionsFile]: definition.agent.instructions }
    const source = { manifest, agent: manifest.agent!, files } // toManifest gives each an agent section
    refuseLogic(source)
    registerInstructions(source, deps.prompts)
    return source
  }
  /** Another agent passes its own gates; every other tool with an effect outside needs a grant by its full name. */
  const isGated = ({ tool, agent, isDestructive, sinks = sink.options }: ToolEntry): boolean =>
    agent === undefined &&
    (Boolean(isDestructive) || sinks.length > 0) &&
    !isMatchOfAny(tool.name, free)
  return {
    entryOf(stored) {
      const { manifest, agent } = sourceOf(stored)
      const about = { manifest, agent, hash: stored.hash, tier: 'community' as const }
      return createSubAgentEntry({ ...about, sessions, submitAs, clock, onStopped })
    },
    prepare(stored, more) {
      const source = sourceOf(stored)
      const { agent } = source
      const all = [...owners, ...more.map((entry) => ({ id: entry.agent ?? '', entries: [entry] }))]
      const { entries, unknown } = resolveUsesTools(agent.uses_tools, all, agent.disallowed_tools)
      const isWithheld = (entry: ToolEntry) =>
        isGated(entry) && !stored.granted.includes(entry.tool.name)
      const spec = toAgentSpec(source, deps.prompts)
      const granted = entries.filter((entry) => !isWithheld(entry))
      return {
        prepareRun: createPrepareRun(spec, toManifestToolset(spec, agent, granted, deps), deps),
        withheld: entries.filter(isWithheld).map(({ tool }) => tool.name),
        unknown,
      }
    },
  }
}

/**
 * A stored agent as a tool for searches: its name and description, without its text. A call looks the agent up by
 * name.
 */
export const toFindable =
  (deps: ChildDeps) =>
  ({ id, head }: RunnableListing): ToolEntry => {
    const { hash, natural, mode, name, description } = head
    const about = { id, name, description, natural_language_description: natural ?? undefined }
    const manifest = headManifest({ ...about, integration_mode: mode ?? 'tool' }, hash)
    const agent = manifest.agent! // headManifest gives each an agent section
    const { sessions, submitAs, clock } = deps
    const parts = { manifest, agent, hash, sessions, submitAs, clock }
    return createSubAgentEntry({ ...parts, tier: 'community' })
  }

export interface StoredAgentsDeps {
  readonly runnable: NonNullable<AgentDirectory['runnable']>
  /** The parts that every run has, and the parts of these ids with their needs. May throw. */
  readonly around: (ids: readonly string[]) => Promise<PluginSnapshot>
  readonly build: (snapshot: PluginSnapshot) => StoredBase
}

/** The stored agents of one generation, by principal: who may run an agent is looked up with each call. */
export interface StoredAgents {
  /** Wires a definition. Which agents among its `uses_tools` become tools depends on the principal. */
  readonly prepare: (agent: RunnableAgent, principal: string) => Promise<PreparedAgent>
  /** The stored agent of this id that the principal may run. */
  readonly find: (id: string, principal: string) => Promise<PreparedAgent | undefined>
  /** Adds the stored agents that a call names. An agent whose lookup fails is not found. */
  readonly withStored: (toolset: Toolset, principal: string) => Toolset
}

const maxKept = 100

/** Wires each stored agent once a generation, and again when its text or its grants change. */
export function createStoredAgents(
  base: StoredBase,
  { runnable, around, build }: StoredAgentsDeps,
): StoredAgents {
  const bases = createCache<StoredBase>()
  const prepared = createCache<PreparedAgent>()
  /** The generation's parts, with the parts that an agent names beside them. */
  const baseFor = async (uses: readonly string[]): Promise<StoredBase> => {
    const missing = [...new Set(uses.map(ownerOf))].filter((id) => !base.ownerOf(id))
    if (missing.length === 0) return base
    const key = missing.join(' ')
    return bases.get(key) ?? bases.keep(key, build(await around(missing)))
  }
  const prepare = async (agent: RunnableAgent, principal: string): Promise<PreparedAgent> => {
    const { id, agent: section } = agent.definition
    const parts = await baseFor(section.uses_tools)
    const others = section.uses_tools
      .filter((name) => !parts.ownerOf(ownerOf(name)) && ownerOf(name) !== id)
      .map(async (name) => runnable(principal, ownerOf(name)))
    const more = (await Promise.all(others)).flatMap((one) => one ?? [])
    const key = JSON.stringify([agent.hash, agent.granted, more.map(({ hash }) => hash)])
    const { storedWiring } = parts
    return (
      prepared.get(key) ??
      prepared.keep(key, storedWiring.prepare(agent, more.map(storedWiring.entryOf)))
    )
  }
  return {
    prepare,
    async find(id, principal) {
      const agent = await runnable(principal, id)
      return agent && prepare(agent, principal)
    },
    withStored(toolset, principal) {
      if (!toolset.finder) return toolset
      const found = new Map<string, ToolEntry>()
      return {
        ...toolset,
        async ready(calls) {
          let away = await toolset.ready?.(calls)
          for (const { toolId, input } of calls) {
            const name = nameIn(toolId, input)
            const id = ownerOf(name)
            if (name !== agentToolName(id) || found.has(name) || toolset.resolve(name, {})) continue
            const agent = await runnable(principal, id).catch(() => {
              away = 'away'
            })
            if (agent) found.set(name, base.storedWiring.entryOf(agent))
          }
          return away
        },
        resolve(name, input) {
          const own = toolset.resolve(name, input)
          const entry = own ? undefined : found.get(nameIn(name, input))
          if (!entry) return own
          return { entry, input: name === callName ? Object(input['input']) : input }
        },
      }
    },
  }
}

/** Keeps a bounded number of values; a full cache starts anew. */
function createCache<Value>() {
  const values = new Map<string, Value>()
  return {
    get: (key: string) => values.get(key),
    keep(key: string, value: Value): Value {
      if (values.size >= maxKept) values.clear()
      values.set(key, value)
      return value
    },
  }
}

/** The core tool that calls another tool by its name. */
const callName = 'isola__call'
const nameIn = (toolId: string, input: Readonly<Record<string, unknown>>): string =>
  toolId === callName ? String(input['name'] ?? '') : toolId
