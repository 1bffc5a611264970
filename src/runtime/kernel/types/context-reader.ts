import type { AddedText } from './agent-pin.ts'
import type { AgentSpec } from '#contracts/agent.ts'
import type { Compaction } from '#contracts/context.ts'
import type { ContextView } from './context-view.ts'
import type { Message } from '#contracts/message.ts'
import type { Toolset } from '#contracts/tool.ts'

/** A session at rest, as its next run would find it. */
export interface ReadContext {
  readonly agent: { readonly spec: AgentSpec; readonly toolset: Toolset }
  /** Without the agent's instructions. */
  readonly messages: readonly Message[]
  /** The compactions of these messages, oldest first. The last ones suffice. */
  readonly compactions: readonly Compaction[]
  /** Whether a message belongs to a failed run. */
  readonly isLeftOver?: (message: Message) => boolean
  /** The texts that plugins added to the last run. */
  readonly added?: readonly AddedText[]
}

/** Shows what a model would be sent, without calling it. */
export interface ContextReader {
  readonly view: (of: ReadContext) => ContextView
  /** The messages that a model is sent in place of these, without the agent's instructions. */
  readonly shown: (of: Pick<ReadContext, 'messages' | 'compactions'>) => readonly Message[]
  /** Whether a compaction now would free anything. */
  readonly isWorthwhile: (of: ReadContext) => Promise<boolean>
}
