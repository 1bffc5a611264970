import { IsolaError } from '#contracts/errors.ts'
import type { McpServerConfig } from '#runtime/catalog/types/mcp.ts'
import type { Clock } from '#contracts/sources.ts'
import { defined } from '#contracts/defined.ts'
import type { Client, OAuthClientProvider } from '@modelcontextprotocol/client'
import { isBroken, isOurs, isSessionGone } from './call-failure.ts'
import {
  connect,
  endSession,
  type ConnectDeps,
  type Connection,
  type Resume,
} from './connection.ts'
import { mayAsk } from './guarded-fetch.ts'
import { createInCall, type InCall } from './in-call.ts'
import type { KeptValues } from './kept-values.ts'

const maxBackoffMs = 60_000

/** After failures in a row calls fail at once instead of waiting for the server: each next try comes later. */
export function createBackoff(clock: Pick<Clock, 'nowMs'>) {
  let failures = 0
  let closedUntilMs = 0
  return {
    /** Throws while it is too early to ask it again. */
    check({ id }: Pick<McpServerConfig, 'id'>): void {
      if (clock.nowMs() >= closedUntilMs) return
      throw new IsolaError(
        'tool_failed',
        `The MCP server ${id} did not answer just now; it is asked again in a moment.`,
        { transient: true },
      )
    },
    failed(): void {
      failures += 1
      closedUntilMs = clock.nowMs() + Math.min(500 * 2 ** failures, maxBackoffMs)
    },
    wentWell: (): void => void (failures = 0),
    /** The next try is made at once. */
    forget(): void {
      failures = 0
      closedUntilMs = 0
    },
  }
}

/** The dependencies of one server's connection. */
interface ConnectionsDeps {
  /** Shared by all connections of the server. */
  readonly backoff: ReturnType<typeof createBackoff>
  readonly kept: KeptValues
  readonly keyOf: (config: McpServerConfig) => string
  readonly connectDeps: (config: McpServerConfig) => Omit<ConnectDeps, 'answer' | 'provider'>
  readonly providerOf: (config: McpServerConfig) => Promise<OAuthClientProvider | undefined>
  /** Told when a session begins that may have other things in it than those that were listed. */
  readonly onAnew: (key: string) => void
  /** Told of each connection whether the server keeps a session of its own for it. */
  readonly onMade: (config: McpServerConfig, keepsSession: boolean) => void
  /** The configuration of the last connection whose server keeps a session; nothing if there was none. */
  readonly configOf: () => McpServerConfig | undefined
}

/** One open connection: the client, and the calls under way over it. */
export interface Line {
  readonly client: Client
  readonly inCall: InCall
}

const connectTimeoutMs = 30_000

interface Open {
  readonly key: string
  readonly inCall: InCall
  readonly connection: Promise<Connection>
  /** The number of calls and lists under way over it. */
  users: number
  isLeft: boolean
  /** Resolves when the last call over it is over and it is closed. */
  readonly closed: PromiseWithResolvers<void>
}

/** A connection to one server: one at a time, for all who share it, and the next later after a failure. */
export function createConnections(deps: ConnectionsDeps) {
  const { backoff, kept, keyOf } = deps
  let open: Open | undefined

  /** To close it would fail what others have under way over it: the last of them closes it. */
  const drop = (): void => {
    const gone = open
    open = undefined
    if (!gone) return
    gone.isLeft = true
    closeIfLeft(gone)
  }

  const forgetIt = (): void => {
    kept.drop('resume')
    drop()
  }

  const end = async (): Promise<void> => {
    const config = deps.configOf()
    const key = config && keyOf(config)
    const mine = open
    const known = key === undefined ? undefined : kept.get<Resume>('resume', key)
    forgetIt()
    if (!config || (mine && mine.key !== key)) return
    await endThere(deps, config, mine ? resumeOnceClosed(mine) : known)
  }

  /**
   * Drops the connection and the facts to resume it, which may be the fault. A failure over an older connection drops
   * nothing.
   */
  const lost = (mine: Open): boolean => {
    if (open !== mine) return false
    forgetIt()
    return true
  }

  const failed = (mine: Open): void => {
    if (lost(mine)) backoff.failed()
  }

  const connected = (config: McpServerConfig): Open => {
    const key = keyOf(config)
    if (open?.key === key) return open
    drop()
    backoff.check(config)
    const resume = kept.get<Resume>('resume', key)
    if (!resume) deps.onAnew(key)
    const inCall = createInCall()
    const connection = connectingOf(deps, config).then((connecting) => {
      const { answer } = inCall
      return connect(config, { ...connecting, answer }, { resume, timeoutMs: connectTimeoutMs })
    })
    const closed = Promise.withResolvers<void>()
    const mine: Open = { key, inCall, connection, users: 0, isLeft: false, closed }
    open = mine
    connection.then(
      (made) => {
        deps.onMade(config, made.resume.era === 'legacy')
        if (open === mine) kept.keep('resume', key, made.resume)
      },
      // A fault on this side (a secret that is not set) says nothing of the server.
      (error: unknown) => void (isOurs(error) ? lost(mine) : failed(mine)),
    )
    return mine
  }

  const release = (mine: Open, { allow }: McpServerConfig): void => {
    mine.users -= 1
    // The stream over which it may ask would keep this object in memory. The session goes on with the next call,
    // unless something may yet be asked in it that belongs to a call of before.
    if (mine.users === 0 && open === mine && mayAsk(allow)) {
      if (mine.inCall.isClean()) drop()
      else void end()
    } else closeIfLeft(mine)
  }

  const take = (config: McpServerConfig): Open => {
    const mine = connected(config)
    mine.users += 1
    return mine
  }

  return {
    /** Connects, and keeps the connection until it is let go of. */
    hold(config: McpServerConfig): () => void {
      const mine = take(config)
      return () => release(mine, config)
    },
    /** Does something over the connection. Only what is wrong with the connection itself counts against the server. */
    using: async <T>(config: McpServerConfig, work: (line: Line) => Promise<T>): Promise<T> => {
      const mine = take(config)
      try {
        const { client } = await mine.connection
        const result = await work({ client, inCall: mine.inCall })
        backoff.wentWell()
        return result
      } catch (error) {
        if (isSessionGone(error)) lost(mine)
        else if (isBroken(error)) failed(mine)
        throw error
      } finally {
        release(mine, config)
      }
    },
    isBusy: () => (open?.users ?? 0) > 0,
    /** Leaves its session, and ends it at the server after the last call. Never rejects. */
    end,
    /** The next one is made at once, and anew. */
    renew: (): void => {
      backoff.forget()
      void end()
    },
  }
}

function closeIfLeft({ connection, isLeft, users, closed }: Open): void {
  if (!isLeft || users > 0) return
  void connection
    .then(({ close }) => close())
    .catch(() => {})
    .finally(closed.resolve)
}

const resumeOnceClosed = async ({ closed, connection }: Open): Promise<Resume> => {
  await closed.promise
  return (await connection).resume
}

async function connectingOf(
  { providerOf, connectDeps }: Pick<ConnectionsDeps, 'providerOf' | 'connectDeps'>,
  config: McpServerConfig,
): Promise<Omit<ConnectDeps, 'answer'>> {
  const provider = await providerOf(config)
  return { ...connectDeps(config), ...defined({ provider }) }
}

/**
 * Ends a session at the server, if there is one. Never rejects: a session that is not ended here expires at the
 * server.
 */
async function endThere(
  deps: Pick<ConnectionsDeps, 'providerOf' | 'connectDeps'>,
  config: McpServerConfig,
  known: Promise<Resume> | Resume | undefined,
): Promise<void> {
  try {
    const resume = await known
    if (resume?.era === 'legacy') await endSession(config, await connectingOf(deps, config), resume)
  } catch {
    // No caller waits for the answer, and there is no way to mend a failure.
  }
}
