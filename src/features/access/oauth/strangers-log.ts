import { withData, type DeploymentEvent, type DeploymentLog } from '#contracts/event.ts'
import type { Client } from '#contracts/operations.ts'
import type { PrincipalRates } from '#runtime/session/types/principal.ts'

/** So many rows a minute: of one network, and of all. After that only the sum. */
const most = { network: 5, all: 30 } as const
/** No principal can be called so. */
const counter = 'oauth records'

/** The record of what anybody can bring about. What was left out is told as `unrecorded` with the next row of its kind. */
export type StrangersLog = (event: DeploymentEvent, client: Client) => Promise<void>

/** Sums are of this isolate: the rows that are there are what counts, a flood must not push others out. */
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
