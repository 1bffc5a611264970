import { IsolaError, errorCode } from '#contracts/errors.ts'
import {
  parseApproval,
  type McpItem,
  type McpListing,
  type McpServerRow,
  type McpServerStore,
  type McpStanding,
  type McpApproval,
} from '#runtime/catalog/types/mcp.ts'
import type { McpServerView, McpAdministration } from '#runtime/catalog/types/part-kind.ts'
import type { BundleStore, PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import {
  destroys,
  approvalLines,
  chooseItems,
  confirmedTools,
  withClosed,
  withHarmless,
  compare,
} from './approve-items.ts'
import { lookAlikeNotes, shown } from './listing.ts'
import { fromReply } from '#contracts/reply.ts'
import { toCanonicalJson } from '#contracts/json.ts'
import { forgetPrincipal, forgetServer, ownerOf, type AtServer } from './gateway.ts'
import { clientMetadataOf, clientMetadataPath } from './oauth/provider.ts'
import { createOwnLogins, type OwnLoginDeps, type OwnLoginParts } from './own-logins.ts'

/** The stores of servers, and the way to each server's object. */
interface McpAdministrationDeps {
  readonly store: McpServerStore
  readonly catalog: Pick<PluginAdministration, 'change'>
  readonly bundles: Pick<BundleStore, 'save' | 'load'>
  readonly at: AtServer<OwnLoginParts | 'look' | 'finishLogin' | 'cameBack'>
  readonly sha256: (text: string) => string
  /** Full names of the tools that are here. */
  readonly toolNames: () => Promise<readonly string[]>
  readonly told: OwnLoginDeps['told']
}

/** The operator's view of one remote server: its row, its listing, and the differences to the approved definitions. */
function createServerViews({ store, bundles, toolNames }: McpAdministrationDeps) {
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

/** The operator's verbs for remote MCP servers: list, look, sign in, approve. Errors are `request_` codes. */
export function createMcpAdministration(deps: McpAdministrationDeps): McpAdministration {
  const { store, catalog, bundles, at, sha256, told } = deps
  const { rowOf, approvedOf, viewOf } = createServerViews(deps)
  const change: McpAdministration['change'] = async (asked, by) => {
    const id = asked.do === 'add' ? asked.config.id : asked.id
    const { generation, notes } = await catalog
      .change({ do: 'mcp', mcp: asked }, by)
      .catch(async (error: unknown) => {
        // A remove that was cut has taken the row away, and not what was kept.
        if (asked.do === 'remove' && errorCode(error) === 'request_not_found')
          await forgetServer(id, at)
        throw error
      })
    // Rows and tokens of the old server must not reach another server that is added under the same name.
    if (asked.do === 'remove' || asked.do === 'add') await forgetServer(id, at)
    return { generation, notes }
  }
  /** The object to read: where each principal signs in, the caller's own object. */
  const objectFor = ({ id, config }: McpServerRow, principal: string) =>
    at(id, ownerOf(config, principal))
  return {
    own: createOwnLogins({ rowOf, at, told }),
    list: store.list,
    change,
    async show(id, principal) {
      const row = await rowOf(id)
      return viewOf(row, await objectFor(row, principal).standing(row.config))
    },
    async look(id, principal) {
      const row = await rowOf(id)
      const object = objectFor(row, principal)
      const reply = await object.look(row.config)
      const standing = await object.standing(row.config)
      if (!reply.ok && standing.login !== 'signed_out')
        throw new IsolaError('request_unavailable', reply.error.message)
      return viewOf(row, reply.ok ? standing : { ...standing, problem: reply.error.message })
    },
    async login(id, origin) {
      const { config } = await rowOf(id)
      if (config.auth === 'principal')
        throw new IsolaError(
          'request_conflict',
          `At "${id}" each signs in for themselves: isola mcp login ${id} --mine`,
        )
      if (config.auth !== 'oauth')
        throw new IsolaError(
          'request_conflict',
          `"${id}" was added without --oauth: it has no sign-in. Look at its headers, or add it again ` +
            'with --oauth --replace.',
        )
      return fromReply(await at(id).login(config, origin))
    },
    async finishLogin(query) {
      // The state begins with the server it is for; that it is right its object knows.
      const [id = '', ...rest] = (new URLSearchParams(query).get('state') ?? '').split('.')
      const { config } = await rowOf(id)
      if (config.auth !== 'principal') {
        fromReply(await at(id).finishLogin(config, query))
        return { server: id, state: 'signed_in' }
      }
      const signer = (await at(id).signers()).find(({ ref }) => ref === rest[0])
      if (!signer)
        throw new IsolaError('request_invalid', 'This sign-in is not one that was begun here.')
      return { server: id, ...fromReply(await at(id, signer.principal).cameBack(config, query)) }
    },
    async forget(principal, by) {
      const servers = await forgetPrincipal(principal, { store, at })
      for (const server of servers) {
        const data = { server, owner: principal, request: by.requestId }
        await told({ type: 'mcp_signed_out', data }, by)
      }
      return servers
    },
    clientMetadata: (origin) => ({
      client_id: `${origin}${clientMetadataPath}`,
      ...clientMetadataOf(origin),
    }),
    async approve({ id, hash, items, confirm, harmless, closed }, by) {
      const row = await rowOf(id)
      const { listing } = await objectFor(row, by.principal).standing(row.config)
      if (listing?.hash !== hash)
        throw new IsolaError(
          'request_conflict',
          `hash: is not what "${id}" has now. Look again (isola mcp show ${id}) and approve what you see.`,
          { param: 'hash' },
        )
      const chosen = withClosed(closed, withHarmless(harmless, chooseItems(listing.items, items)))
      const lines = approvalLines(await approvedOf(row), chosen)
      const approval: McpApproval = { server: id, items: chosen }
      const text = toCanonicalJson({ manifest: approval, files: {} })
      const approvedHash = sha256(text)
      await bundles.save(approvedHash, text)
      const { epoch } = row
      const done = await change(
        {
          do: 'approve',
          id,
          hash: approvedHash,
          confirmed: confirmedTools(confirm, chosen),
          epoch,
          lines,
        },
        by,
      )
      return { ...done, notes: [...lines.map(shown), ...done.notes] }
    },
  }
}
