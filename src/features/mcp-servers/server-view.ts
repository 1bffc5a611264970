import { IsolaError } from '#contracts/errors.ts'
import {
  parseApproval,
  type McpItem,
  type McpListing,
  type McpServerRow,
  type McpServerStore,
  type McpStanding,
} from '#runtime/catalog/types/mcp.ts'
import type { McpServerView } from '#runtime/catalog/types/mcp-administration.ts'
import type { BundleStore } from '#runtime/catalog/types/plugin-store.ts'
import { destroys } from './approve-items.ts'
import { compare } from './compare.ts'
import { lookAlikeNotes } from './listing.ts'

/** The stores of servers and approvals, and the names that are taken. */
export interface ServerViewDeps {
  readonly store: Pick<McpServerStore, 'find'>
  readonly bundles: Pick<BundleStore, 'load'>
  /** Full names of the tools that are here. */
  readonly toolNames: () => Promise<readonly string[]>
}

/** The operator's view of one remote server: its row, its listing, and the differences to the approved definitions. */
export function createServerViews({ store, bundles, toolNames }: ServerViewDeps) {
  /** The row of an existing server; throws `request_not_found`. */
  const rowOf = async (id: string): Promise<McpServerRow> => {
    const row = await store.find(id)
    if (row && row.state !== 'removed') return row
    throw new IsolaError('request_not_found', 'There is no such MCP server.')
  }
  /** The approved definitions; empty before the first approval. */
  const approvedOf = async ({ approvedHash }: McpServerRow): Promise<readonly McpItem[]> =>
    approvedHash === undefined
      ? []
      : parseApproval(
          (JSON.parse(await bundles.load(approvedHash)) as { readonly manifest: unknown }).manifest,
        )
  const viewOf = async (
    row: McpServerRow,
    { listing, ...standing }: McpStanding,
  ): Promise<McpServerView> => {
    const approved = await approvedOf(row)
    const items = listing?.items ?? []
    const harmless = approved.filter(({ isHarmless }) => isHarmless)
    const isHarmless = ({ hash }: McpItem) => harmless.some((one) => one.hash === hash)
    return {
      ...row,
      ...standing,
      ...(listing && { listing: await withLookAlikes(listing, row.id) }),
      // A server without a listing has lost nothing.
      differences: listing ? compare(approved, items) : [],
      asking: items
        .filter((item) => destroys(item) !== false && !isHarmless(item))
        .map(({ key }) => key),
      harmless: harmless.map(({ key }) => key),
      closed: approved.filter(({ isClosedWorld }) => isClosedWorld).map(({ key }) => key),
    }
  }
  const withLookAlikes = async (listing: McpListing, id: string): Promise<McpListing> => ({
    ...listing,
    notes: [...listing.notes, ...lookAlikeNotes(listing, id, await toolNames())],
  })
  return { rowOf, approvedOf, viewOf }
}
