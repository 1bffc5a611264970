import { withData, type DeploymentEvent, type DeploymentLog } from '#contracts/event.ts'
import type { RequestClient } from '#contracts/operations.ts'
import type { PrincipalRates } from '#runtime/session/types/principal.ts'

/** How many rows a minute: for one network, and for all. Then only the sum. */
const most = { network: 5, all: 30 } as const
/** A name that no principal can have. */
const counter = 'oauth records'

/**
 * Records events that strangers can cause. Omitted events are counted as `unrecorded` in the next row of their kind.
 */
export type StrangersLog = (event: DeploymentEvent, client: RequestClient) => Promise<void>

/**
 * The sum of omitted events is this isolate's own and may be lost: the limit must hold, so that a flood cannot push
 * other rows out.
 */
export function createStrangersLog(
  log: DeploymentLog,
  takeRate: PrincipalRates['takeRate'],
  networkOf: (address: string | undefined) => string,
): StrangersLog {
  const left = new Map<string, number>()
  return async (event, client) => {
    const { type } = event
    const rules = [
      { key: `${type} ${networkOf(client.address)}`, most: most.network },
      { key: type, most: most.all },
    ]
    const { retryAfterMs } = await takeRate(counter, { call: client.requestId ?? '', rules })
    const unrecorded = left.get(type) ?? 0
    if (retryAfterMs !== undefined) return void left.set(type, unrecorded + 1)
    left.delete(type)
    await log.append(unrecorded > 0 ? withData(event, { unrecorded }) : event)
  }
}
