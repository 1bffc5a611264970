import type { Label } from '#contracts/label.ts'
import type { AgentSpec } from '#contracts/agent.ts'
import type { ToolDefinition } from '#contracts/model.ts'

/** A tool as a model was shown it. */
export interface PinnedTool extends ToolDefinition {
  /** `ToolEntry.definitionHash` of then; absent for a name that stands for other tools. */
  readonly hash?: string
}

/**
 * The agent as it was at the run's beginning, before the run's own options, which its submission has. Plain data, the
 * same for all runs between two changes of the enabled set.
 */
export interface PinnedAgent {
  readonly spec: AgentSpec
  /** The deployment's default model as it was set; absent if none was. */
  readonly defaultModel?: string
  /** The tools that the model saw from the start, in that order. */
  readonly tools: readonly PinnedTool[]
}

/** The same with its name. */
export interface AgentPin {
  /** sha-256 of the agent as JSON. */
  readonly hash: string
  readonly agent: PinnedAgent
}

/** A text that a plugin's hook added to the instructions of a model call. */
export interface AddedText {
  readonly plugin: string
  readonly text: string
  /** The text's label; least trusted if absent. */
  readonly label?: Label
}
