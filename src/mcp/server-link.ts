import type { Client, OAuthClientProvider } from '@modelcontextprotocol/client'
import { IsolaError } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { McpCall, McpCaller, McpListing, McpServerConfig } from '#contracts/mcp.ts'
import { toCanonicalJson } from '#contracts/plugin-bundle.ts'
import type { ReadSecrets } from '#contracts/secrets.ts'
import type { Clock } from '#contracts/sources.ts'
import type { SchemaValidator, ToolResult } from '#contracts/tool.ts'
import { ask } from './ask-server.ts'
import { isBroken, isSessionGone, toCallFailure } from './call-failure.ts'
import { connect, type Connection, type Resume } from './connection.ts'
import { createGuardedFetch, mayAsk, type CheckUrl, type FetchFunction } from './guarded-fetch.ts'
import { createInCall } from './in-call.ts'
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
const maxBackoffMs = 60_000

interface Open {
  readonly key: string
  readonly connection: Promise<Connection>
  /** Of calls and lists that are under way over it. */
  users: number
  isLeft: boolean
}

/**
 * One remote server for all sessions: its connection, and what it said it has. A call finds both as they were, also
 * after the object slept, and is then one HTTP request; what is called is compared first with what was approved (T14).
 */
export function createServerLink(store: LinkStore, deps: LinkDeps) {
  const { clock, sha256 } = deps
  let open: Open | undefined
  let listing: { readonly key: string; readonly work: Promise<McpListing> } | undefined
  let failures = 0
  let closedUntilMs = 0
  const under = new Map<string, AbortController>()
  const sent = createSentSecrets(deps.redactorOf)
  const inCall = createInCall()

  const keyOf = (config: McpServerConfig): string => sha256(toCanonicalJson(config))
  const kept = createKeptValues(store)

  const age = (key: string): void => {
    const seen = kept.get<McpListing>('listing', key)
    if (seen) kept.keep('listing', key, { ...seen, atMs: 0 })
  }

  const closeIfLeft = ({ connection, isLeft, users }: Open): void => {
    if (isLeft && users === 0) void connection.then(({ client }) => client.close()).catch(() => {})
  }

  /** To close it would fail what others have under way over it: the last of them closes it. */
  const drop = (): void => {
    const gone = open
    open = undefined
    if (!gone) return
    gone.isLeft = true
    closeIfLeft(gone)
  }

  /** What was known of how to go on may be what is wrong; whoever fails over an older connection says nothing of it. */
  const lost = (mine: Open): boolean => {
    if (open !== mine) return false
    drop()
    kept.drop('resume')
    return true
  }

  const failed = (mine: Open): void => {
    if (!lost(mine)) return
    failures += 1
    closedUntilMs = clock.nowMs() + Math.min(500 * 2 ** failures, maxBackoffMs)
  }

  /** After failures in a row nobody waits for the same again: the next try comes later each time. */
  const connected = (config: McpServerConfig): Open => {
    const key = keyOf(config)
    if (open?.key === key) return open
    drop()
    if (clock.nowMs() < closedUntilMs)
      throw new IsolaError(
        'tool_failed',
        `The MCP server ${config.id} did not answer just now; it is asked again in a moment.`,
        { transient: true },
      )
    const resume = kept.get<Resume>('resume', key)
    // A session that begins anew may have other things in it than those that were listed.
    if (!resume) age(key)
    const connection = providerOf(config).then((provider) =>
      connect(
        config,
        { ...connectDeps(config), ...(provider && { provider }) },
        { resume, timeoutMs: listTimeoutMs },
      ),
    )
    const mine: Open = { key, connection, users: 0, isLeft: false }
    open = mine
    connection.then(
      (made) => {
        if (open === mine) kept.keep('resume', key, made.resume)
      },
      () => failed(mine),
    )
    return mine
  }

  /** Does something over the connection. Only what is wrong with the connection itself counts against the server. */
  const using = async <T>(
    config: McpServerConfig,
    work: (client: Client) => Promise<T>,
  ): Promise<T> => {
    const mine = connected(config)
    mine.users += 1
    try {
      const result = await work((await mine.connection).client)
      failures = 0
      return result
    } catch (error) {
      if (isSessionGone(error)) lost(mine)
      else if (isBroken(error)) failed(mine)
      throw error
    } finally {
      mine.users -= 1
      // The stream over which it may ask would keep this object in memory. The session goes on with the next call.
      if (mine.users === 0 && open === mine && mayAsk(config.allow)) drop()
      closeIfLeft(mine)
    }
  }

  const providerOf = async (config: McpServerConfig) =>
    config.auth === 'oauth' ? deps.providerOf?.(config) : undefined

  const connectDeps = (config: McpServerConfig) => ({
    guardedFetch: createGuardedFetch(config, { ...deps, onSecret: sent.add }),
    validator: deps.validator,
    version: deps.version,
    answer: inCall.answer,
    onListChanged: () => age(keyOf(config)),
  })

  const listNow = async (config: McpServerConfig): Promise<McpListing> => {
    const key = keyOf(config)
    const list = (client: Client) => listAll(client, { timeoutMs: listTimeoutMs })
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
    // First, as it may be a new session: then the list is looked at again.
    connected(call.config)
    const refused = refusal(call, await freshOf(call.config))
    if (refused) return refused
    const askIt = (client: Client) =>
      inCall.run(asked, stop, () => ask(client, call, { tell, signal }))
    try {
      return await using(call.config, askIt)
    } catch (error) {
      if (signal.aborted || !isSessionGone(error)) throw error
      // The session ended over there, so this was not done. A new one may have other things in it: they are compared.
      return refusal(call, await look(call.config)) ?? using(call.config, askIt)
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
    renew(): void {
      drop()
      failures = 0
      closedUntilMs = 0
      kept.drop('resume')
    },
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
      drop()
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
