import { headManifest, instructionsFile, toManifest } from '#contracts/manifest/agent-definition.ts'
import { sink } from '#contracts/label.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { AgentUse, ReadyAgent } from '#runtime/session/types/runtime.ts'
import type { RunnableAgent, RunnableListing } from '#contracts/stored-agent.ts'
import type { ToolEntry, Toolset } from '#contracts/tool.ts'
import { isMatchOfAny } from '#runtime/kernel/types/tool-policy.ts'
import { refuseLogic, registerInstructions, toAgentSpec, type AgentSource } from '../agent-spec.ts'
import type { BuildToolset } from '../build-toolset.ts'
import type { CodeOf } from '../code-mode.ts'
import { toManifestToolset } from '../manifest-toolset.ts'
import { personaFor, type PersonaDeps } from '../personas.ts'
import { createLoader, type PinningDeps } from '../pinned-agent.ts'
import { createSubAgentEntry, type SubAgentOptions } from '../sub-agent-tool.ts'
import { resolveUsesTools, type ToolOwner } from '../tool-reach.ts'

/** What agents without a plugin are wired from: the same as those of plugins. */
export interface StoredWiringDeps
  extends PinningDeps, PersonaDeps, Pick<SubAgentOptions, 'sessions' | 'submitAs' | 'clock'> {
  readonly prompts: Parameters<typeof registerInstructions>[1]
  readonly createToolset: BuildToolset
  readonly codeOf: CodeOf
  readonly readsNarrowly?: ((agent: string) => boolean) | undefined
  readonly withOutside: (toolset: Toolset, options: RunOptions) => Toolset
  readonly onSubAgentStopped?: SubAgentOptions['onStopped']
  /** Tools that destroy and that the deployment lets anybody call without being asked. */
  readonly free?: readonly string[] | undefined
}

/** An agent with what it reaches. */
export interface PreparedAgent {
  readonly load: (options: RunOptions, use: AgentUse) => Promise<ReadyAgent>
  /** Full names of what it names and was not granted: it destroys, or goes out. */
  readonly withheld: readonly string[]
  /** What it names and is not here. */
  readonly unknown: readonly string[]
}

export interface StoredWiring {
  /** Throws `plugin_prompt_invalid`. `more`: the agents without a plugin that it names, as tools. */
  readonly prepare: (agent: RunnableAgent, more: readonly ToolEntry[]) => PreparedAgent
  /** It as a tool: whether whoever calls it may, its own session asks again. */
  readonly entryOf: (agent: RunnableAgent) => ToolEntry
  /** The same without its text: named and described alike, and not to be called. */
  readonly toFind: (agent: RunnableListing) => ToolEntry
}

/** Wires agents without a plugin among the tools of one generation. */
export function createStoredWiring(
  owners: readonly ToolOwner[],
  deps: StoredWiringDeps,
): StoredWiring {
  const { sessions, submitAs, clock, free = [] } = deps
  const sourceOf = ({ definition, hash }: RunnableAgent): AgentSource => {
    const manifest = toManifest(definition, hash)
    const files = { [instructionsFile]: definition.agent.instructions }
    const source = { manifest, agent: manifest.agent!, files } // it was given one
    refuseLogic(source)
    registerInstructions(source, deps.prompts)
    return source
  }
  /** Another agent passes its own gates; all else that does something outward has to be granted by name. */
  const isGated = ({ tool, agent, isDestructive, sinks = sink.options }: ToolEntry): boolean =>
    agent === undefined &&
    (Boolean(isDestructive) || sinks.length > 0) &&
    !isMatchOfAny(tool.name, free)
  return {
    entryOf(stored) {
      const { manifest, agent } = sourceOf(stored)
      const { hash } = stored
      const about = { manifest, agent, hash, sessions, submitAs, clock }
      return createSubAgentEntry({
        ...about,
        tier: 'community',
        onStopped: deps.onSubAgentStopped,
      })
    },
    toFind({ id, head }) {
      const { hash, natural, mode, name, description } = head
      const about = { id, name, description, natural_language_description: natural ?? undefined }
      const manifest = headManifest({ ...about, integration_mode: mode ?? 'tool' }, hash)
      const agent = manifest.agent! // it was given one
      return createSubAgentEntry({
        manifest,
        agent,
        hash,
        sessions,
        submitAs,
        clock,
        tier: 'community',
      })
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
      const toolset = toManifestToolset(spec, agent, granted, deps)
      const load = createLoader(spec, toolset, deps)
      return {
        unknown,
        withheld: entries.filter(isWithheld).map(({ tool }) => tool.name),
        async load(options, use) {
          await personaFor(spec.id, { asked: options.persona, otherwise: undefined }, deps)
          const ready = load(options, use)
          return { ...ready, toolset: deps.withOutside(ready.toolset, options) }
        },
      }
    },
  }
}
