import { pinsOf, type PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import { parseApproval, type McpItem, type McpPin } from '#runtime/catalog/types/mcp.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import { toOffers } from './offer-entries.ts'

/**
 * The servers of one generation with their tools, resources and prompts, as they were approved. A server whose bundle
 * is gone, or whose id a plugin has, is off and
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
) {
  const problems: PluginProblem[] = []
  const servers = pinsOf(snapshot, 'mcp').flatMap((pin) => {
    const source = snapshot.sources[pin.hash]
    const { id } = pin
    const off = (code: PluginProblem['code'], message: string) => {
      problems.push({ plugin: id, code, message })
      return []
    }
    if (taken.has(id)) return off('plugin_name_collision', 'a plugin has the id of this MCP server')
    if (!source)
      return off(
        'plugin_code_unavailable',
        `what was approved cannot be read: isola mcp approve ${id}`,
      )
    const items = parseApproval(source.manifest)
    const { exclusive: isExclusive } = pin.config
    return [{ id, isExclusive, entries: toEntries(pin, items), offers: toOffers(id, items) }]
  })
  return { servers, problems }
}
