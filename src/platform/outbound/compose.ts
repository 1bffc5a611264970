import type { Carrier, OpenHosts, Outbound } from '#contracts/outbound.ts'
import type { ReadImage } from './types.ts'
import type { Clock } from '#contracts/sources.ts'
import { checkAddress, createSend } from './send.ts'
import { createImageReader } from './image-reader.ts'
import { watchedBody } from './answer.ts'

export interface OutboundParts {
  readonly config: { readonly isDevelopment: boolean }
  readonly clock: Pick<Clock, 'sleep'>
}

/** Reads pictures: from public hosts, and from hosts of this machine that are among those. */
type OpenImageReader = (openHosts: OpenHosts) => ReadImage

/** The one egress, over the platform's network. No other file of ours calls its fetch. */
export function composeOutbound({
  config: { isDevelopment },
  clock: { sleep },
}: OutboundParts): Outbound & { readonly openImageReader: OpenImageReader } {
  const over = (carry: Carrier) => createSend({ carry, sleep, isDevelopment })
  const carry: Carrier = (url, init) => fetch(url, init)
  const send = createSend({ carry, sleep, isDevelopment, watchedBody })
  return {
    over,
    send,
    openImageReader: (openHosts) => createImageReader(send, openHosts),
    checkUrl: (url) => checkAddress(url, { isDevelopment }),
  }
}
