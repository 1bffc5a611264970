import { headOf } from '#contracts/cut.ts'
import type { DeploymentEventData } from '#contracts/event.ts'
import type { McpCall, McpListing, McpCaller, McpServerConfig } from '#runtime/catalog/types/mcp.ts'
import type { ToolResult, SchemaValidator } from '#contracts/tool.ts'
import { type LinkStore, createKeptValues, type KeptValues } from './kept-values.ts'
import { failure } from './outcome.ts'
import type { OAuthClientProvider } from '@modelcontextprotocol/client'
import type { Outbound } from '#contracts/outbound.ts'
import { toCanonicalJson } from '#contracts/json.ts'
import type { ReadSecrets } from '#features/access/types/secrets.ts'
import type { Clock } from '#contracts/sources.ts'
import { ask } from './ask-server.ts'
import { isSessionGone, toCallFailure } from './call-failure.ts'
import { createBackoff, createConnections, type Line } from './connections.ts'
import { createGuardedFetch, type GuardedFetchDeps } from './guarded-fetch.ts'
import { createSentSecrets, type RedactorOf } from './sent-secrets.ts'
import { ageListing, createServerListing } from './server-listing.ts'
import { createServerScopes } from './server-scopes.ts'
import { untilAborted, within } from './until-aborted.ts'

/** Told once for each definition that is not the approved one any more. Never throws. */
type OnQuarantined = (what: DeploymentEventData<'mcp_quarantined'>) => void

/**
 * Nothing that is not as it was approved is called, whatever it is called (docs/security.md T14).
 * @returns Why a call is refused, or nothing if what the server lists now is what was approved.
 */
function createQuarantine(store: LinkStore, onQuarantined: OnQuarantined) {
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

/** The network, the secrets and the receivers of events: all that a link to a server does not have itself. */
export interface LinkDeps extends Pick<Outbound, 'send' | 'checkUrl'> {
  readonly readSecrets: ReadSecrets
  readonly clock: Clock
  readonly sha256: (text: string) => string
  readonly validator: SchemaValidator
  readonly version: string
  readonly redactorOf: RedactorOf
  readonly onQuarantined: OnQuarantined
  /** Signs in where the server wants it. */
  readonly providerOf?: (config: McpServerConfig) => Promise<OAuthClientProvider | undefined>
  /** So many session trees have a session of their own at a time: 256 if absent. */
  readonly maxScopes?: number
}

type FetchRules = Pick<GuardedFetchDeps, 'needsToken'>

const statelessName = 'stateless'
const configName = 'config'
const maxForgetMs = 10_000

/**
 * One remote server for all sessions: its connection, or, where the server keeps a session of its own, one for each
 * session tree; and its listing. Both survive the sleep of this object, so that a call is then one HTTP request. A
 * called tool is compared first with its approved definition (docs/security.md T14).
 */
export function createServerLink(store: LinkStore, deps: LinkDeps) {
  const { clock, sha256 } = deps
  const under = new Map<string, AbortController>()
  const sent = createSentSecrets(deps.redactorOf)

  const keyOf = (config: McpServerConfig): string => sha256(toCanonicalJson(config))
  const kept = createKeptValues(store)

  const connectDeps = (config: McpServerConfig, mine = kept, rules: FetchRules = {}) => ({
    guardedFetch: createGuardedFetch(config, { ...deps, ...rules, onSecret: sent.add }),
    validator: deps.validator,
    version: deps.version,
    onListChanged: () => ageListing(mine, keyOf(config)),
  })
  const backoff = createBackoff(clock)
  const { isStateless, configOf, onMade, drop } = createShown(kept, keyOf)
  const about = { clock, sha256, keyOf, sent }
  const open = (mine: KeptValues) => {
    const connections = createConnections({
      backoff,
      kept: mine,
      keyOf,
      connectDeps: (config) =>
        connectDeps(config, mine, { needsToken: config.auth === 'principal' }),
      providerOf: async (config) =>
        config.auth === 'headers' ? undefined : deps.providerOf?.(config),
      onAnew: (key) => ageListing(mine, key),
      onMade,
      configOf,
    })
    const listing = createServerListing({ ...about, kept: mine, using: connections.using })
    return { ...connections, ...listing }
  }
  /** Shared by all sessions, and the one that is looked at. */
  const shared = open(kept)
  const scopes = createServerScopes({ kept, open, maxScopes: deps.maxScopes ?? 256 })
  const lineFor = async ({ config, rootSession }: McpCall) => {
    if (rootSession === undefined) return held(shared, config)
    if (isStateless(config)) {
      const line = held(shared, config)
      // It may have become another one since.
      await shared.using(config, async () => {}).catch(passOn(line.letGo))
      if (isStateless(config)) return line
      line.letGo()
    }
    return held(scopes.of(rootSession), config)
  }
  const refusal = createQuarantine(store, deps.onQuarantined)

  const carryOut = async (
    call: McpCall,
    { tell, asked }: McpCaller,
    stop: AbortController,
  ): Promise<ToolResult> => {
    const { signal } = stop
    const askIt = ({ client, inCall }: Line) =>
      inCall.run(asked, stop, () => ask(client, call, { tell, signal, validator: deps.validator }))
    const { line, letGo } = await lineFor(call)
    try {
      return (
        refusal(call, await line.freshOf(call.config)) ?? (await line.using(call.config, askIt))
      )
    } catch (error) {
      if (signal.aborted || !isSessionGone(error)) throw error
      // The session ended over there, so this was not done. A new one may have other things in it: they are compared.
      return refusal(call, await line.look(call.config)) ?? (await line.using(call.config, askIt))
    } finally {
      letGo()
    }
  }

  return {
    look: shared.look,
    seenOf: shared.seenOf,
    /** For signing in, which has no token yet. */
    connectDeps: (config: McpServerConfig) => connectDeps(config),
    /** A value that no reply of this server, nor of its authorization server, may repeat. */
    learn: sent.add,
    fromText: sent.fromText,
    /** The next call connects anew, at once. */
    renew(): void {
      shared.renew()
      void scopes.endAll()
    },
    /** The session tree is over: ends its session at the server. No caller waits for that. */
    endSession: (rootSession: string): void => void scopes.end(rootSession),
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
    /** For a removed server: calls under way end, then its sessions, for 10 s at most. Never rejects. */
    async forget(): Promise<void> {
      for (const stop of under.values()) stop.abort('cancelled')
      const ended = Promise.all([shared.end(), scopes.endAll()])
      drop()
      await within(maxForgetMs, () => ended).catch(() => {})
    },
  }
}

const passOn = (before: () => void) => (error: unknown) => {
  before()
  throw error
}

/** Facts that connections have shown of a server, stored from call to call. */
function createShown(kept: KeptValues, keyOf: (config: McpServerConfig) => string) {
  const configOf = () => kept.get<McpServerConfig>(configName, '')
  return {
    /**
     * An older server without sessions, or a server of today's protocol, cannot tell the caller of one call from the
     * caller before.
     */
    isStateless: (config: McpServerConfig) =>
      kept.get<boolean>(statelessName, keyOf(config)) === true,
    configOf,
    onMade: (config: McpServerConfig, keepsSession: boolean): void => {
      const key = keyOf(config)
      if (kept.get<boolean>(statelessName, key) !== !keepsSession)
        kept.keep(statelessName, key, !keepsSession)
      const last = configOf()
      if (keepsSession && !(last && keyOf(last) === key)) kept.keep(configName, '', config)
    },
    drop: (): void => {
      for (const name of ['resume', 'listing', statelessName, configName]) kept.drop(name)
    },
  }
}

/**
 * Connects before it holds the line: a new session needs its listing read again. A held line is not ended for other
 * calls.
 */
const held = <T extends Pick<ReturnType<typeof createConnections>, 'hold'>>(
  line: T,
  config: McpServerConfig,
) => ({ line, letGo: line.hold(config) })

function stopped(reason: unknown, { config }: McpCall): ToolResult {
  if (reason === 'later') return failure('Waiting for an answer.', { code: 'tool_pending' })
  return reason === 'late'
    ? failure(`The MCP server ${config.id} did not answer in time.`, { code: 'tool_timeout' })
    : failure('The call was cancelled.', { code: 'tool_cancelled' })
}
