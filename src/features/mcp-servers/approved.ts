import { pinsOf, type PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import { parseApproval, type McpItem, type McpPin } from '#runtime/catalog/types/mcp.ts'
import type { Offers } from '#contracts/manifest/manifest-offers.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import { toOffers } from './offer-entries.ts'

/** The tools, resources and prompts of all servers that are on, as they were approved. */
export interface WiredServers<Entry> {
  readonly servers: readonly {
    readonly id: string
    readonly isExclusive: boolean
    readonly entries: readonly Entry[]
    /** Resources and prompts that were approved. */
    readonly offers: Offers
  }[]
  readonly problems: readonly PluginProblem[]
}

/**
 * The servers of one generation with their tools. A server whose bundle is gone, or whose id a plugin has, is off and
 * listed as a problem.
 */
export function wireServers<Entry>(
  snapshot: Pick<PluginSnapshot, 'pins' | 'sources'>,
  {
    taken,
    toEntries,
  }: {
    readonly taken: ReadonlySet<string>
    readonly toEntries: (pin: McpPin, items: readonly McpItem[]) => readonly Entry[]
  },
): WiredServers<Entry> {
  const problems: PluginProblem[] = []
  const servers = pinsOf(snapshot, 'mcp').flatMap((pin) => {
    const source = snapshot.sources[pin.hash]
    const { id } = pin
    if (taken.has(id)) {
      problems.push({
        plugin: id,
        code: 'plugin_name_collision',
        message: 'a plugin has the id of this MCP server',
      })
      return []
    }
    if (!source) {
      problems.push({
        plugin: id,
        code: 'plugin_code_unavailable',
        message: `what was approved cannot be read: isola mcp approve ${id}`,
      })
      return []
    }
    const items = parseApproval(source.manifest)
    const { exclusive: isExclusive } = pin.config
    return [{ id, isExclusive, entries: toEntries(pin, items), offers: toOffers(id, items) }]
  })
  return { servers, problems }
}
