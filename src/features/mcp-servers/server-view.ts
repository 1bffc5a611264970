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

/** Where the rows of servers and what was approved of them are kept, and which names are taken. */
export interface ServerViewDeps {
  readonly store: Pick<McpServerStore, 'find'>
  readonly bundles: Pick<BundleStore, 'load'>
  /** Full names of the tools that are here. */
  readonly toolNames: () => Promise<readonly string[]>
}

/** What an operator is shown of one remote server: its row, what it offers now, and how that differs from what was approved. */
export function createServerViews({ store, bundles, toolNames }: ServerViewDeps) {
  /** The row of a server that is there; throws `request_not_found`. */
  const rowOf = async (id: string): Promise<McpServerRow> => {
    const row = await store.find(id)
    if (row && row.state !== 'removed') return row
    throw new IsolaError('request_not_found', 'There is no such MCP server.')
  }
  /** What the operator approved of it; nothing if they never did. */
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
      // Of one that was not looked at, nothing is gone.
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
