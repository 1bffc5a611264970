import type { AgentPin, PinnedAgent, PinnedTool } from '#runtime/kernel/types/agent-pin.ts'
import type { AgentSpec } from '#contracts/agent.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { AgentUse, ReadyAgent } from '#runtime/session/types/runtime.ts'
import type { Toolset } from '#contracts/tool.ts'
import { withOptions } from './agent-spec.ts'

/** What a pin takes besides the agent itself. */
export interface PinningDeps {
  readonly sha256: (text: string) => string
  /** The deployment's default model as it is set: one name, or several with commas between. */
  readonly defaultModel?: string | undefined
}

export type LoadAgent = (options: RunOptions, use: AgentUse) => ReadyAgent

/** An agent of one generation, ready for a run that begins, or for one that goes on with what it began with. */
export function createLoader(
  spec: AgentSpec,
  toolset: Toolset,
  { sha256, defaultModel }: PinningDeps,
): LoadAgent {
  let pin: AgentPin | undefined
  /** The same for every run of a generation. */
  const pinned = (): AgentPin => {
    const agent = { spec, ...(defaultModel && { defaultModel }), tools: toolsOf(toolset) }
    return { hash: sha256(JSON.stringify(agent)), agent }
  }
  return (options, { lease, pinned: begun }) => ({
    spec: withOptions(begun ? specOf(begun, defaultModel) : spec, options, lease),
    toolset: begun ? { ...toolset, definitions: begun.tools.map(toDefinition) } : toolset,
    pin: (pin ??= pinned()),
    ...(begun && { limitsNow: spec.limits }),
  })
}

function toolsOf({ definitions, resolve }: Toolset): readonly PinnedTool[] {
  return definitions.map((definition) => {
    const hash = resolve(definition.name, {})?.entry.definitionHash
    return { ...definition, ...(hash !== undefined && { hash }) }
  })
}

const toDefinition = ({ name, description, inputSchema }: PinnedTool) => {
  return { name, description, inputSchema }
}

/** While the default is the same, its whole list is; of another time it is the first name. */
function specOf({ spec, defaultModel: begun }: PinnedAgent, now: string | undefined): AgentSpec {
  if (spec.model !== undefined || begun === undefined || begun === now) return spec
  return { ...spec, model: begun.split(',')[0]!.trim() }
}
