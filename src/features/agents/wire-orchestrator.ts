import type { AgentSpec } from '#contracts/agent.ts'
import type { TokenCounter } from '#contracts/context.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import type { PromptStore } from '#contracts/prompt.ts'
import type { OrchestratorPrompt } from '#runtime/session/types/runtime.ts'
import type { Persona } from '#runtime/catalog/types/skill.ts'
import type { ToolEntry, Toolset } from '#contracts/tool.ts'
import { defaultPinned } from '#runtime/kernel/types/tool-policy.ts'
import { summarizeCapabilities, type PinnedPlugin } from './capability-summary.ts'
import { orchestratorId, toOrchestratorSpec } from './orchestrator.ts'
import { withVoice } from './personas.ts'

/** The orchestrator's instructions and the definitions of its tools have so many tokens at most, whatever is installed. */
export const maxPromptTokens = 1_500

interface Wiring<T extends Toolset> {
  /** Full names, the most wanted first. */
  readonly pinned: readonly string[]
  readonly entries: readonly ToolEntry[]
  readonly build: (isPinned: (entry: ToolEntry) => boolean) => T
  /** The plugins with those of their tools that are in the definitions. */
  readonly shownOf: (
    names: ReadonlySet<string>,
    others: 'with-agents-that-ship' | 'alone',
  ) => readonly PinnedPlugin[]
  readonly prompts: PromptStore
  /** How it speaks; in its own voice if absent. */
  readonly persona?: Persona | undefined
  readonly count: TokenCounter
  /** What calls the tools that it finds, in place of `isola__call`. */
  readonly code?: ToolEntry | undefined
}

/**
 * The orchestrator with what is pinned, from the front of the list until its prompt is full. What has no room is left to
 * `isola__find`, and said; what is not there is left out without a word, since it may come. A persona takes the room of
 * what is pinned. Agents that ship are named beside it while there is room: what is installed changes nothing of that.
 */
export function wireOrchestrator<T extends Toolset>(wiring: Wiring<T>) {
  const { pinned, entries, build, shownOf, prompts, persona, count, code } = wiring
  const reached = new Set(entries.map(({ tool }) => tool.name))
  const wanted = pinned.filter((name) => reached.has(name))
  const wire = (
    names: readonly string[],
    others: Parameters<typeof shownOf>[1] = 'with-agents-that-ship',
  ) => {
    const shown = new Set(names)
    const toolset = build(({ tool }) => shown.has(tool.name))
    const summary = {
      ...summarizeCapabilities(shownOf(shown, others)),
      call: code?.tool.name ?? 'isola__call',
    }
    const own = toOrchestratorSpec(summary, prompts)
    const spec = persona ? spokenBy(persona, own) : own
    const tokens = count.ofText(spec.instructions) + count.ofTools(toolset.definitions)
    return { spec, toolset, tokens }
  }
  let [kept, wired] = [wanted, wire(wanted)]
  // What is only named gives way before what is pinned.
  if (wired.tokens > maxPromptTokens) wired = wire(kept, 'alone')
  while (kept.length > 0 && wired.tokens > maxPromptTokens) {
    kept = kept.slice(0, -1)
    wired = wire(kept, 'alone')
  }
  const left = wanted.slice(kept.length)
  const definitions = new Map(wired.toolset.definitions.map((one) => [one.name, one]))
  const prompt: OrchestratorPrompt = {
    tokens: wired.tokens,
    most: maxPromptTokens,
    pinned: kept.flatMap((name) => {
      const definition = definitions.get(name)
      return definition ? [{ name, tokens: count.ofTools([definition]) }] : []
    }),
    left,
  }
  // What ships gives way without a word: nobody asked for it.
  const missed = left.filter((name) => !defaultPinned.includes(name))
  return { ...wired, prompt, problems: missed.length > 0 ? [tooLong(missed)] : [] }
}

const spokenBy = (persona: Persona, spec: AgentSpec): AgentSpec => ({
  ...spec,
  instructions: withVoice(spec.instructions, persona),
  persona: {
    name: persona.name,
    hash: persona.hash,
    ...(persona.label && { label: persona.label }),
  },
})

const tooLong = (left: readonly string[]): PluginProblem => ({
  plugin: orchestratorId,
  code: 'prompt_too_long',
  message: `policy.pinned: ${left.join(', ')} found no room in the prompt's ${maxPromptTokens} tokens; isola__find finds them.`,
})
