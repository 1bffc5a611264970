import { IsolaError } from '#contracts/errors.ts'
import type { Answer, OpenHosts, OutboundError, Send } from '#contracts/outbound.ts'
import { bundleCaps } from '#runtime/catalog/types/plugin-bundle.ts'

const maxRedirects = 5
const timeoutMs = 30_000

/** How an archive is fetched from an address. */
export interface FetchArchiveDeps {
  readonly send: Send
  readonly maxBytes?: number
  /** What the operator opened of this machine, if that is to be asked. */
  readonly openHosts?: OpenHosts
  /** What named the address, where that is no caller. */
  readonly from?: URL | undefined
  /** Told who answered, after redirects. */
  readonly onAnswer?: ((answer: Pick<Answer, 'url'>) => void) | undefined
}

/**
 * Fetches a named archive: https from a public host, or from one of this machine that an operator opened;
 * redirects checked again, no credentials, size counted while it is read, all of it within 30 seconds.
 *
 * @throws `request_invalid` (`url`) for an address that is refused, `plugin_source_unavailable` for what did not come,
 *   `plugin_upload_invalid` for what is too large.
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
      ...(openHosts && { openHosts }),
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
    ...(cause !== undefined && { cause }),
  })
}
