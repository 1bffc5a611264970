import { headOf } from '#contracts/cut.ts'
import type { Manifest } from '#contracts/manifest/manifest.ts'

const maxDescriptionChars = 600

/** What the system prompt says is there: tools and agents separately (Y18). */
export interface CapabilitySummary {
  readonly tools: readonly SummaryLine[]
  readonly agents: readonly SummaryLine[]
}

/** A tool or an agent, as the prompt lists it. */
export interface SummaryLine {
  readonly name: string
  readonly description: string
}

/** One plugin with those of its callables that the model sees from the start. */
export interface PinnedPlugin {
  readonly manifest: Manifest
  readonly toolNames: readonly string[]
  /** The name of its agent's tool. */
  readonly agentName?: string
  /** It is found, not seen: named all the same, since it ships. */
  readonly foundAgentName?: string
}

/**
 * Tools are listed once a plugin, since the routing text is the plugin's; their own texts are in the definitions. An
 * agent's routing text is in its definition: here is what it is, said once.
 */
export function summarizeCapabilities(plugins: readonly PinnedPlugin[]): CapabilitySummary {
  return {
    tools: plugins
      .filter(({ toolNames }) => toolNames.length > 0)
      .map(({ manifest, toolNames }) => ({
        name: toolNames.join(', '),
        description: routingText(manifest),
      })),
    agents: plugins.flatMap(({ manifest, agentName, foundAgentName }) => {
      const description = toLine(manifest.description)
      if (agentName !== undefined) return [{ name: agentName, description }]
      if (foundAgentName === undefined) return []
      return [{ name: foundAgentName, description: `${description} (by isola__find)` }]
    }),
  }
}

const routingText = ({ natural_language_description: routing, description }: Manifest): string =>
  toLine(routing ?? description)

/** One line, so that a description cannot start a section of its own in the prompt. */
function toLine(given: string): string {
  const text = given.replace(/\s+/g, ' ').trim()
  return text.length > maxDescriptionChars ? `${headOf(text, maxDescriptionChars - 1)}…` : text
}
