import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { OutboundAnswer, OpenHosts, OutboundError, Send } from '#contracts/outbound.ts'
import { bundleCaps } from '#runtime/catalog/types/plugin-upload.ts'

const maxRedirects = 5
const timeoutMs = 30_000

/** The network, and the limits of a fetch. */
export interface FetchArchiveDeps {
  readonly send: Send
  readonly maxBytes?: number
  /** Private hosts of this machine that the operator opened; absent if none may be used. */
  readonly openHosts?: OpenHosts
  /** The page that named the address, if no caller did. */
  readonly from?: URL | undefined
  /** Called with the answering address, after redirects. */
  readonly onAnswer?: ((answer: Pick<OutboundAnswer, 'url'>) => void) | undefined
}

/**
 * Fetches an archive by its address: https from a public host, or from a host of this machine that an operator
 * opened. Checks each redirect, sends no credentials, counts the size while reading, and takes at most 30 seconds.
 *
 * @throws `request_invalid` (`url`) for a refused address, `plugin_source_unavailable` if the fetch fails,
 *   `plugin_upload_invalid` for an archive that is too large.
 */
export async function fetchArchive(
  url: string,
  { send, maxBytes = bundleCaps.maxArchiveBytes, openHosts, from, onAnswer }: FetchArchiveDeps,
): Promise<Uint8Array> {
  const answer = await send(
    { url },
    {
      maxRedirects,
      maxBytes,
      timeoutMs,
      from,
      toError: toError(maxBytes),
      ...defined({ openHosts }),
    },
  )
  onAnswer?.(answer)
  if (answer.status === 200) return answer.bytes()
  answer.cancel()
  throw unavailable(`: ${answer.host} answered ${answer.status}`)
}

const toError =
  (maxBytes: number) =>
  (error: OutboundError): IsolaError => {
    const { failure, message } = error
    switch (failure) {
      case 'refused':
        return new IsolaError('request_invalid', `url: ${message}`, { param: 'url' })
      case 'too_large': {
        const what = `The archive is larger than ${maxBytes} bytes.`
        return new IsolaError('plugin_upload_invalid', what)
      }
      case 'late':
        return unavailable(` did not come within ${timeoutMs / 1_000} seconds`)
      case 'broken_off':
        return unavailable(' broke off', error)
      default:
        return unavailable(`: ${message.replace(/\.$/, '')}`, error)
    }
  }

function unavailable(what: string, cause?: unknown): IsolaError {
  return new IsolaError('plugin_source_unavailable', `The archive${what}.`, {
    param: 'url',
    transient: true,
    ...defined({ cause }),
  })
}
