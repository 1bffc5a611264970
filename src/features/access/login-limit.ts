import { defined } from '#contracts/defined.ts'
import { errorMessage } from '#contracts/errors.ts'
import type { DeploymentEvent, DeploymentLog } from '#contracts/event.ts'
import { stateOf, type KeyView } from './types/keys.ts'
import { lengthPrefixed } from '#contracts/objects.ts'
import type { Client } from '#contracts/operations.ts'
import { plusPlatform } from '#contracts/lease.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import type {
  FailedLogin,
  FailedLoginVerdict,
  PrincipalApi,
} from '#runtime/session/types/principal.ts'
import type { Reply } from '#contracts/reply.ts'
import type { Sources } from '#contracts/sources.ts'
import { networkOf } from './network.ts'
import type { PrincipalNamespace } from './principal-ledger.ts'

const maxBlocked = 1_000

/** Counts and records a wrong key. Never throws: a refused caller stays refused. */
export interface LoginLimit {
  /** @param shown The key, if it is revoked or expired; or `token` for a token. */
  readonly failed: (
    client: Client,
    shown: KeyView | 'token' | undefined,
  ) => Promise<Pick<FailedLoginVerdict, 'retryAfterMs'>>
}

/** The object that counts wrong keys, and the log that records their sums. */
export interface LoginLimitOptions extends Pick<Sources, 'sha256' | 'clock'> {
  readonly namespace: PrincipalNamespace
  readonly log: DeploymentLog
  readonly onFault: (error: unknown, requestId?: string) => void
  readonly deployment?: PlatformCount
}

/**
 * Counts wrong keys and tokens in one object of their own, so that a flood of them delays no principal's work. This
 * isolate remembers a limited address until its window ends: further failures make no call, and the next recorded row
 * reports them as `refused`.
 */
export function createLoginLimit(options: LoginLimitOptions): LoginLimit {
  const { namespace, sha256, clock, log, onFault, deployment } = options
  const name = sha256(lengthPrefixed(['failed-logins']))
  const blocked = new Map<string, { readonly untilMs: number; count: number }>()

  const ask = async (failed: FailedLogin): Promise<FailedLoginVerdict> => {
    const api = namespace.getByName(name) as PrincipalApi
    const reply: Reply<FailedLoginVerdict> = await api.loginFailed(failed)
    deployment?.count(plusPlatform(reply.billed?.own, reply.billed?.others))
    if (!reply.ok) throw new Error(reply.error.message)
    return reply.value
  }
  const block = (address: string, untilMs: number) => {
    if (blocked.size >= maxBlocked) blocked.clear()
    blocked.set(address, { untilMs, count: 0 })
  }

  return {
    async failed(client, shown) {
      const key = shown === 'token' ? undefined : shown
      const nowMs = clock.nowMs()
      const address = networkOf(client.address)
      const known = blocked.get(address)
      if (known && nowMs < known.untilMs) {
        known.count += 1
        return { retryAfterMs: known.untilMs - nowMs }
      }
      blocked.delete(address)
      try {
        const { retryAfterMs, record } = await ask({ address, ...(key && { key: key.id }) })
        if (retryAfterMs !== undefined) block(address, nowMs + retryAfterMs)
        const refused = known?.count ?? 0
        const isToken = shown === 'token'
        if (record) await log.append(eventOf(record, { client, key, isToken, nowMs, refused }))
        return retryAfterMs === undefined ? {} : { retryAfterMs }
      } catch (error) {
        onFault(
          new Error(`A failed login was not counted: ${errorMessage(error)}`),
          client.requestId,
        )
        return {}
      }
    },
  }
}

/** The event of a failure. The shown key itself is never recorded, only its id and owner if it is a known key. */
function eventOf(
  { address, count, key: id }: NonNullable<FailedLoginVerdict['record']>,
  at: {
    readonly client: Client
    readonly key: KeyView | undefined
    readonly isToken: boolean
    readonly nowMs: number
    readonly refused: number
  },
): DeploymentEvent {
  const { client, key, isToken, nowMs, refused } = at
  const reason = key ? stateOf(key, nowMs) : isToken ? 'token' : 'unknown'
  const data = {
    count,
    ...(refused > 0 && { refused }),
    ...defined({ address }),
    ...(address !== undefined && { reason }),
    ...(id !== undefined && key && { key: id, owner: key.principal }),
    ...defined({ request: client.requestId }),
  }
  return { type: 'login_failed', principal: '', trace: '', atMs: nowMs, data }
}
