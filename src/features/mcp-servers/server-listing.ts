import { defined } from '#contracts/defined.ts'
import type { McpListing, McpServerConfig } from '#runtime/catalog/types/mcp.ts'
import type { Clock } from '#contracts/sources.ts'
import { isSessionGone } from './call-failure.ts'
import type { createConnections, Line } from './connections.ts'
import type { KeptValues } from './kept-values.ts'
import { listAll, tooMuchListed } from './list-all.ts'
import { toListing } from './listing.ts'
import type { createSentSecrets } from './sent-secrets.ts'

/** The connection to read from, the store of the answer, and the redaction. */
interface ServerListingDeps {
  readonly clock: Clock
  readonly sha256: (text: string) => string
  readonly kept: KeptValues
  readonly keyOf: (config: McpServerConfig) => string
  readonly using: ReturnType<typeof createConnections>['using']
  readonly sent: Pick<ReturnType<typeof createSentSecrets>, 'fromJson'>
}

/** So old may be what is known of a server's lists when something of them is called. */
const freshListMs = 5 * 60_000
const listTimeoutMs = 30_000

/** A server's listing: read over its connection, and stored from call to call. */
export function createServerListing({
  clock,
  sha256,
  kept,
  keyOf,
  using,
  sent,
}: ServerListingDeps) {
  let listing: { readonly key: string; readonly work: Promise<McpListing> } | undefined

  const listNow = async (config: McpServerConfig): Promise<McpListing> => {
    const key = keyOf(config)
    const list = ({ client }: Line) => listAll(client, { timeoutMs: listTimeoutMs })
    const raw = await using(config, list).catch((error: unknown) => {
      if (isSessionGone(error)) return using(config, list)
      throw error
    })
    const { entries, ...about } = raw
    const said = { ...sent.fromJson(about), entries: sent.fromJson(entries) }
    const before = kept.get<McpListing>('listing', key)
    // A session that goes on from before does not say them again.
    const instructions = said.instructions ?? instructionsOf(before)
    const seen = toListing(
      {
        ...said,
        ...defined({ instructions }),
        server: said.server.name === '' && before ? before.server : said.server,
      },
      { sha256, nowMs: clock.nowMs },
    )
    if (!kept.keep('listing', key, seen)) throw tooMuchListed()
    return seen
  }

  /** A second caller of a listing under way shares its answer. */
  const look = (config: McpServerConfig): Promise<McpListing> => {
    const key = keyOf(config)
    if (listing?.key === key) return listing.work
    const mine = { key, work: listNow(config) }
    listing = mine
    const done = () => {
      if (listing === mine) listing = undefined
    }
    mine.work.then(done, done)
    return mine.work
  }

  const seenOf = (config: McpServerConfig): McpListing | undefined =>
    kept.get<McpListing>('listing', keyOf(config))

  const freshOf = async (config: McpServerConfig): Promise<McpListing> => {
    const seen = seenOf(config)
    const ageMs = seen ? clock.nowMs() - seen.atMs : Infinity
    return seen && ageMs >= 0 && ageMs < freshListMs ? seen : look(config)
  }

  return { look, seenOf, freshOf }
}

const instructionsOf = (seen: McpListing | undefined): string | undefined => {
  const text = seen?.items.find(({ kind }) => kind === 'instructions')?.definition['text']
  return typeof text === 'string' ? text : undefined
}

/** From now on what is kept counts as old: the server says it changed, or its session began anew. */
export function ageListing(kept: KeptValues, key: string): void {
  const seen = kept.get<McpListing>('listing', key)
  if (seen) kept.keep('listing', key, { ...seen, atMs: 0 })
}
