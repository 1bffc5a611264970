import type { Carrier, Outbound } from '#contracts/outbound.ts'
import { composeOutbound } from '../../src/platform/outbound/compose.ts'
import { createSend, type SendDeps } from '../../src/platform/outbound/send.ts'
import { systemSources } from '../../src/compose/sources.ts'

/** The one way out, over what a test puts in the network's place. */
export function outboundOver(
  network: Carrier,
  more: Partial<Pick<SendDeps, 'sleep' | 'isDevelopment'>> = {},
): Outbound {
  const { sleep = systemSources.clock.sleep, isDevelopment = false } = more
  const { over, checkUrl } = composeOutbound({ config: { isDevelopment }, clock: { sleep } })
  return { over, checkUrl, send: createSend({ carry: network, sleep, isDevelopment }) }
}

/** Its `send` alone. */
export const sendOver = (...given: Parameters<typeof outboundOver>): Outbound['send'] =>
  outboundOver(...given).send

export const noNetwork: Carrier = async () => {
  throw new Error('no network in tests')
}
