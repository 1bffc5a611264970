import { headOf } from '#contracts/cut.ts'
import type { DeploymentEventData } from '#contracts/event.ts'
import type { McpCall, McpListing } from '#runtime/catalog/types/mcp.ts'
import type { ToolResult } from '#contracts/tool.ts'
import type { LinkStore } from './kept-values.ts'
import { failure } from './outcome.ts'

/** Told once for each definition that is not the approved one any more. Never throws. */
export type OnQuarantined = (what: DeploymentEventData<'mcp_quarantined'>) => void

/**
 * Nothing that is not as it was approved is called, whatever it is called (docs/security.md T14).
 * @returns Why a call is refused, or nothing if what the server lists now is what was approved.
 */
export function createQuarantine(store: LinkStore, onQuarantined: OnQuarantined) {
  return ({ config, item }: McpCall, seen: McpListing): ToolResult | undefined => {
    const now = seen.items.find(({ kind, key }) => kind === item.kind && key === item.key)
    const told = `told ${item.kind} ${item.key}`
    if (now?.hash === item.hash) {
      if (store.get(told) !== undefined) store.delete(told)
      return undefined
    }
    const hash = now?.hash ?? 'gone'
    if (store.get(told) !== hash) {
      store.put(told, hash)
      onQuarantined({
        server: config.id,
        kind: item.kind,
        key: headOf(item.key, 200),
        approved: item.hash,
        now: hash,
      })
    }
    const what = now ? 'changed it since it was approved' : 'does not offer it any more'
    return failure(
      `The MCP server ${config.id} ${what}. The operator can look: isola mcp show ${config.id}`,
      { code: 'tool_denied' },
    )
  }
}
