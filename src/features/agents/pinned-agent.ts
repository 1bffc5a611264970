import { defined } from '#contracts/defined.ts'
import type { AgentPin, PinnedAgent, PinnedTool } from '#runtime/kernel/types/agent-pin.ts'
import type { AgentSpec } from '#contracts/agent.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { AgentUse, ReadyAgent } from '#runtime/session/types/runtime.ts'
import type { Toolset } from '#contracts/tool.ts'
import { withOptions } from './agent-spec.ts'

/** The parts of a pin besides the agent itself. */
export interface PinningDeps {
  readonly sha256: (text: string) => string
  /** The deployment's default model: one name, or several with commas between. */
  readonly defaultModel?: string | undefined
}

/** Applies the options, the lease and the pin of one run to an agent of one generation. */
export type PrepareRun = (options: RunOptions, use: AgentUse) => ReadyAgent

/** An agent of one generation: a new run begins with it as it is, a run that continues keeps its pin. */
export function createPrepareRun(
  spec: AgentSpec,
  toolset: Toolset,
  { sha256, defaultModel }: PinningDeps,
): PrepareRun {
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
    return { ...definition, ...defined({ hash }) }
  })
}

const toDefinition = ({ name, description, inputSchema }: PinnedTool) => {
  return { name, description, inputSchema }
}

/** The pinned spec. If the default model has changed since, the first name of the old list is its model. */
function specOf({ spec, defaultModel: begun }: PinnedAgent, now: string | undefined): AgentSpec {
  if (spec.model !== undefined || begun === undefined || begun === now) return spec
  return { ...spec, model: begun.split(',')[0]!.trim() }
}
