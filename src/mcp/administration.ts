import { errorCode, IsolaError } from '#contracts/errors.ts'
import {
  parseApproval,
  type McpApproval,
  type McpItem,
  type McpListing,
  type McpServerApi,
  type McpServerRow,
  type McpServerStore,
  type McpStanding,
} from '#contracts/mcp.ts'
import type { McpAdministration, McpServerView } from '#contracts/mcp-administration.ts'
import { fromReply } from '#contracts/reply.ts'
import { toCanonicalJson } from '#contracts/plugin-bundle.ts'
import type { BundleStore, PluginAdministration } from '#contracts/plugin-catalog.ts'
import { remoteToolDestroys } from '#contracts/decide-tool.ts'
import { compare } from './compare.ts'
import { lookAlikeNotes, shown } from './listing.ts'
import { clientMetadataOf, clientMetadataPath } from './oauth/provider.ts'

export interface McpAdministrationDeps {
  readonly store: McpServerStore
  readonly catalog: Pick<PluginAdministration, 'change'>
  readonly bundles: Pick<BundleStore, 'save' | 'load'>
  readonly at: (
    id: string,
  ) => Pick<McpServerApi, 'look' | 'standing' | 'forget' | 'login' | 'finishLogin'>
  readonly sha256: (text: string) => string
  /** Full names of the tools that are here. */
  readonly toolNames: () => readonly string[]
}

export function createMcpAdministration(deps: McpAdministrationDeps): McpAdministration {
  const { store, catalog, bundles, at, sha256 } = deps
  const rowOf = async (id: string): Promise<McpServerRow> => {
    const row = await store.find(id)
    if (row && row.state !== 'removed') return row
    throw new IsolaError('request_not_found', 'There is no such MCP server.')
  }
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
      ...(listing && { listing: withLookAlikes(listing, row.id) }),
      differences: compare(approved, items),
      asking: items
        .filter((item) => destroys(item) !== false && !isHarmless(item))
        .map(({ key }) => key),
      harmless: harmless.map(({ key }) => key),
    }
  }
  const withLookAlikes = (listing: McpListing, id: string): McpListing => ({
    ...listing,
    notes: [...listing.notes, ...lookAlikeNotes(listing, id, deps.toolNames())],
  })
  const change: McpAdministration['change'] = async (asked, by) => {
    const id = asked.do === 'add' ? asked.config.id : asked.id
    const { generation, notes } = await catalog
      .change({ do: 'mcp', mcp: asked }, by)
      .catch(async (error: unknown) => {
        // A remove that was cut has taken the row away, and not what was kept.
        if (asked.do === 'remove' && errorCode(error) === 'request_not_found') await at(id).forget()
        throw error
      })
    // What was kept of it, tokens too, is of no use to whoever comes under this name next.
    if (asked.do === 'remove' || asked.do === 'add') await at(id).forget()
    return { generation, notes }
  }
  return {
    list: store.list,
    change,
    async show(id) {
      const row = await rowOf(id)
      return viewOf(row, await at(id).standing(row.config))
    },
    async look(id) {
      const row = await rowOf(id)
      const reply = await at(id).look(row.config)
      const standing = await at(id).standing(row.config)
      if (!reply.ok && standing.login !== 'signed_out')
        throw new IsolaError('request_unavailable', reply.error.message)
      return viewOf(row, reply.ok ? standing : { ...standing, problem: reply.error.message })
    },
    async login(id, origin) {
      const { config } = await rowOf(id)
      if (config.auth !== 'oauth')
        throw new IsolaError(
          'request_conflict',
          `"${id}" was added without --oauth: nobody signs in there. Look at its headers, or add it again with --oauth --replace.`,
        )
      return fromReply(await at(id).login(config, origin))
    },
    async finishLogin(query) {
      // The state begins with the server it is for; that it is right its object knows.
      const [id = ''] = (new URLSearchParams(query).get('state') ?? '').split('.')
      fromReply(await at(id).finishLogin((await rowOf(id)).config, query))
    },
    clientMetadata: (origin) => ({
      client_id: `${origin}${clientMetadataPath}`,
      ...clientMetadataOf(origin),
    }),
    async approve({ id, hash, items, confirm, harmless }, by) {
      const row = await rowOf(id)
      const { listing } = await at(id).standing(row.config)
      if (listing?.hash !== hash)
        throw new IsolaError(
          'request_conflict',
          `hash: is not what "${id}" has now. Look again (isola mcp show ${id}) and approve what you see.`,
          { param: 'hash' },
        )
      const chosen = withHarmless(harmless, choose(listing.items, items))
      const before = await approvedOf(row)
      const approval: McpApproval = { server: id, items: chosen }
      const text = toCanonicalJson({ manifest: approval, files: {} })
      const approvedHash = sha256(text)
      await bundles.save(approvedHash, text)
      const lines = compare(before, chosen)
        .filter(({ state }) => state !== 'same')
        .map(({ state, kind, key }) =>
          state === 'gone' ? `not approved any more: ${kind} ${key}` : `${state} ${kind} ${key}`,
        )
        .concat(
          chosen
            .filter(({ isHarmless }) => isHarmless)
            .map(({ key }) => `called without asking: tool ${key}`),
        )
      const { epoch } = row
      const done = await change(
        {
          do: 'approve',
          id,
          hash: approvedHash,
          confirmed: confirmed(confirm, chosen),
          epoch,
          lines,
        },
        by,
      )
      return { ...done, notes: [...lines.map(shown), ...done.notes] }
    },
  }
}

function choose(
  all: readonly McpItem[],
  wanted: readonly string[] | undefined,
): readonly McpItem[] {
  if (!wanted) return all
  const isWanted = ({ kind, key }: McpItem) =>
    wanted.includes(key) || wanted.includes(`${kind}:${key}`)
  const unknown = wanted.find(
    (name) => !all.some(({ kind, key }) => name === key || name === `${kind}:${key}`),
  )
  if (unknown !== undefined)
    throw new IsolaError(
      'request_invalid',
      `items: the server has no "${unknown.slice(0, 100)}".`,
      { param: 'items' },
    )
  for (const name of wanted) {
    const kinds = all.filter(({ key }) => key === name).map(({ kind }) => `${kind}:${name}`)
    if (kinds.length > 1)
      throw new IsolaError(
        'request_invalid',
        `items: "${name.slice(0, 100)}" is more than one thing; say which: ${kinds.join(' or ').slice(0, 300)}.`,
        { param: 'items' },
      )
  }
  return all.filter(isWanted)
}

const destroys = ({ kind, definition }: McpItem): boolean | 'presumed' =>
  kind === 'tool' && remoteToolDestroys(definition['annotations'])

/** The operator's word in place of none; against what a tool says of itself it does not count. */
function withHarmless(names: readonly string[], items: readonly McpItem[]): readonly McpItem[] {
  for (const name of names) {
    const tool = items.find(({ kind, key }) => kind === 'tool' && key === name)
    if (name !== '*' && (!tool || destroys(tool) === true))
      throw new IsolaError(
        'request_invalid',
        `harmless: "${name.slice(0, 100)}" ${tool ? 'says itself that it destroys; allow_destructive of the policy lets it be called without asking' : 'is no tool that is approved'}.`,
        { param: 'harmless' },
      )
  }
  return items.map((item) =>
    destroys(item) === 'presumed' && (names.includes('*') || names.includes(item.key))
      ? { ...item, isHarmless: true }
      : item,
  )
}

function confirmed(names: readonly string[], items: readonly McpItem[]): readonly string[] {
  const unknown = names.find(
    (name) => !items.some(({ kind, key }) => kind === 'tool' && key === name),
  )
  if (unknown === undefined) return names
  throw new IsolaError(
    'request_invalid',
    `confirm: "${unknown.slice(0, 100)}" is no tool that is approved.`,
    { param: 'confirm' },
  )
}
