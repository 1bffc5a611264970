import type { OAuthClientProvider } from '@modelcontextprotocol/client'
import type { JsonObject } from '#contracts/json.ts'
import type { McpCall, McpCaller, McpListing, McpServerConfig } from '#contracts/mcp.ts'
import { toCanonicalJson } from '#contracts/plugin-bundle.ts'
import type { ReadSecrets } from '#contracts/secrets.ts'
import type { Clock } from '#contracts/sources.ts'
import type { SchemaValidator, ToolResult } from '#contracts/tool.ts'
import { ask } from './ask-server.ts'
import { isSessionGone, toCallFailure } from './call-failure.ts'
import { createConnections, type Line } from './connections.ts'
import { createGuardedFetch, type CheckUrl, type FetchFunction } from './guarded-fetch.ts'
import { createKeptValues, type LinkStore } from './kept-values.ts'
import { listAll, tooMuchListed } from './list-all.ts'
import { toListing } from './listing.ts'
import { failure } from './outcome.ts'
import { createSentSecrets, type RedactorOf } from './sent-secrets.ts'
import { untilAborted } from './until-aborted.ts'

export interface LinkDeps {
  readonly fetch: FetchFunction
  readonly checkUrl: CheckUrl
  readonly readSecrets: ReadSecrets
  readonly clock: Clock
  readonly sha256: (text: string) => string
  readonly validator: SchemaValidator
  readonly version: string
  readonly redactorOf: RedactorOf
  /** Told once for each definition that is not the approved one any more. Never throws. */
  readonly onQuarantined: (what: JsonObject) => void
  /** Signs in where the server wants it. */
  readonly providerOf?: (config: McpServerConfig) => Promise<OAuthClientProvider | undefined>
}

/** So old may be what is known of a server's lists when something of them is called. */
const freshListMs = 5 * 60_000
const listTimeoutMs = 30_000

/**
 * One remote server for all sessions: its connection, and what it said it has. A call finds both as they were, also
 * after the object slept, and is then one HTTP request; what is called is compared first with what was approved (T14).
 */
export function createServerLink(store: LinkStore, deps: LinkDeps) {
  const { clock, sha256 } = deps
  let listing: { readonly key: string; readonly work: Promise<McpListing> } | undefined
  const under = new Map<string, AbortController>()
  const sent = createSentSecrets(deps.redactorOf)

  const keyOf = (config: McpServerConfig): string => sha256(toCanonicalJson(config))
  const kept = createKeptValues(store)

  const age = (key: string): void => {
    const seen = kept.get<McpListing>('listing', key)
    if (seen) kept.keep('listing', key, { ...seen, atMs: 0 })
  }

  const connectDeps = (config: McpServerConfig) => ({
    guardedFetch: createGuardedFetch(config, { ...deps, onSecret: sent.add }),
    validator: deps.validator,
    version: deps.version,
    onListChanged: () => age(keyOf(config)),
  })

  const connections = createConnections({
    clock,
    kept,
    keyOf,
    connectDeps,
    providerOf: async (config) => (config.auth === 'oauth' ? deps.providerOf?.(config) : undefined),
    onAnew: age,
  })
  const { using } = connections

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
        ...(instructions !== undefined && { instructions }),
        server: said.server.name === '' && before ? before.server : said.server,
      },
      { sha256, nowMs: clock.nowMs },
    )
    if (!kept.keep('listing', key, seen)) throw tooMuchListed()
    return seen
  }

  /** Who asks while somebody asks already gets the same answer. */
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

  /** Nothing that is not as it was approved is called, whatever it is called. */
  const refusal = ({ config, item }: McpCall, seen: McpListing): ToolResult | undefined => {
    const now = seen.items.find(({ kind, key }) => kind === item.kind && key === item.key)
    const told = `told ${item.kind} ${item.key}`
    if (now?.hash === item.hash) {
      if (store.get(told) !== undefined) store.delete(told)
      return undefined
    }
    const hash = now?.hash ?? 'gone'
    if (store.get(told) !== hash) {
      store.put(told, hash)
      deps.onQuarantined({
        server: config.id,
        kind: item.kind,
        key: item.key.slice(0, 200),
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

  const carryOut = async (
    call: McpCall,
    { tell, asked }: McpCaller,
    stop: AbortController,
  ): Promise<ToolResult> => {
    const { signal } = stop
    const askIt = ({ client, inCall }: Line) =>
      inCall.run(asked, stop, () => ask(client, call, { tell, signal }))
    // First, as it may be a new session: then the list is looked at again.
    const letGo = connections.hold(call.config)
    try {
      return refusal(call, await freshOf(call.config)) ?? (await using(call.config, askIt))
    } catch (error) {
      if (signal.aborted || !isSessionGone(error)) throw error
      // The session ended over there, so this was not done. A new one may have other things in it: they are compared.
      return refusal(call, await look(call.config)) ?? (await using(call.config, askIt))
    } finally {
      letGo()
    }
  }

  return {
    look,
    seenOf,
    connectDeps,
    /** What is never said again by this server, nor by whoever signs in at it. */
    learn: sent.add,
    fromText: sent.fromText,
    /** The next call connects anew, at once. */
    renew: connections.renew,
    async call(call: McpCall, { tell, asked }: McpCaller): Promise<ToolResult> {
      const stop = new AbortController()
      const done = new AbortController()
      under.set(call.callId, stop)
      void clock.sleep(call.timeoutMs, done.signal).then(() => {
        if (!done.signal.aborted) stop.abort('late')
      })
      try {
        const caller: McpCaller = {
          tell: (progress) => tell(sent.fromJson(progress)),
          asked: (what) => asked(sent.fromJson(what)),
        }
        const result = await untilAborted(carryOut(call, caller, stop), stop.signal)
        return sent.fromJson(result)
      } catch (error) {
        if (stop.signal.aborted) return stopped(stop.signal.reason, call)
        const { message, ...failed } = toCallFailure(error, call.config)
        return { ok: false, error: { ...failed, message: sent.fromText(message) } }
      } finally {
        done.abort()
        under.delete(call.callId)
      }
    },
    cancel: (callId: string): void => under.get(callId)?.abort('cancelled'),
    forget(): void {
      connections.drop()
      for (const name of ['resume', 'listing']) kept.drop(name)
    },
  }
}

const instructionsOf = (seen: McpListing | undefined): string | undefined => {
  const text = seen?.items.find(({ kind }) => kind === 'instructions')?.definition['text']
  return typeof text === 'string' ? text : undefined
}

function stopped(reason: unknown, { config }: McpCall): ToolResult {
  if (reason === 'later') return failure('Waiting for an answer.', { code: 'tool_pending' })
  return reason === 'late'
    ? failure(`The MCP server ${config.id} did not answer in time.`, { code: 'tool_timeout' })
    : failure('The call was cancelled.', { code: 'tool_cancelled' })
}
