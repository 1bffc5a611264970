import type { Client, OAuthClientProvider } from '@modelcontextprotocol/client'
import type { McpServerConfig } from '#contracts/mcp.ts'
import type { createBackoff } from './backoff.ts'
import { isBroken, isOurs, isSessionGone } from './call-failure.ts'
import { connect, type ConnectDeps, type Connection, type Resume } from './connection.ts'
import { mayAsk } from './guarded-fetch.ts'
import { createInCall, type InCall } from './in-call.ts'
import type { KeptValues } from './kept-values.ts'

/** What one server's connection is made from. */
export interface ConnectionsDeps {
  /** Shared by all connections of the server. */
  readonly backoff: ReturnType<typeof createBackoff>
  readonly kept: KeptValues
  readonly keyOf: (config: McpServerConfig) => string
  readonly connectDeps: (config: McpServerConfig) => Omit<ConnectDeps, 'answer' | 'provider'>
  readonly providerOf: (config: McpServerConfig) => Promise<OAuthClientProvider | undefined>
  /** Told when a session begins that may have other things in it than those that were listed. */
  readonly onAnew: (key: string) => void
  /** Told of each connection whether the server keeps a session of its own for it. */
  readonly onMade: (key: string, keepsSession: boolean) => void
}

/** What work is done with: the client, and the calls that are under way over it. */
export interface Line {
  readonly client: Client
  readonly inCall: InCall
}

const connectTimeoutMs = 30_000

interface Open {
  readonly key: string
  readonly inCall: InCall
  readonly connection: Promise<Connection>
  /** Of calls and lists that are under way over it. */
  users: number
  isLeft: boolean
}

/** A connection to one server: one at a time, for all who share it, and the next later after a failure. */
export function createConnections(deps: ConnectionsDeps) {
  const { backoff, kept, keyOf } = deps
  let open: Open | undefined

  const closeIfLeft = ({ connection, isLeft, users }: Open): void => {
    if (isLeft && users === 0) void connection.then(({ close }) => close()).catch(() => {})
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
    const connection = deps.providerOf(config).then((provider) => {
      const { answer } = inCall
      const connecting = { ...deps.connectDeps(config), answer, ...(provider && { provider }) }
      return connect(config, connecting, { resume, timeoutMs: connectTimeoutMs })
    })
    const mine: Open = { key, inCall, connection, users: 0, isLeft: false }
    open = mine
    connection.then(
      (made) => {
        deps.onMade(key, made.resume.era === 'legacy')
        if (open === mine) kept.keep('resume', key, made.resume)
      },
      // What is wrong on this side (a secret that is not set) says nothing of the server.
      (error: unknown) => void (isOurs(error) ? lost(mine) : failed(mine)),
    )
    return mine
  }

  const release = (mine: Open, { allow }: McpServerConfig): void => {
    mine.users -= 1
    // The stream over which it may ask would keep this object in memory. The session goes on with the next call,
    // unless something may yet be asked in it that belongs to a call of before.
    if (mine.users === 0 && open === mine && mayAsk(allow)) {
      if (!mine.inCall.isClean()) kept.drop('resume')
      drop()
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
    drop,
    /** The next one is made at once, and anew. */
    renew: (): void => {
      drop()
      backoff.forget()
      kept.drop('resume')
    },
  }
}
