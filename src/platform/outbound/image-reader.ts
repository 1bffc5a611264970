import { defined } from '#contracts/defined.ts'
import { OutboundError, type OpenHosts, type Send } from '#contracts/outbound.ts'
import { maxImageBytes, type ReadImage } from './types.ts'

/** Short: the client waits for the answer. */
const maxImageMs = 15_000
const maxRedirects = 5

/** The types that models take, by their first bytes: a server's own claim proves nothing. */
const kinds: readonly (readonly [type: string, begins: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[^]{4}WEBP/],
]

/**
 * Fetches images through the one egress: from public hosts, on every redirect, and in development from the hosts of
 * this machine that an operator opened. A refusal comes before any request, so that a caller does not learn which
 * ports of the machine answer.
 *
 * @param openHosts The hosts that the operator opened.
 */
export function createImageReader(send: Send, openHosts: OpenHosts = async () => []): ReadImage {
  return async (url, { signal, maxBytes = maxImageBytes, onHop } = {}) => {
    const answer = await send(
      { url, headers: { accept: 'image/*', 'user-agent': 'isola' }, signal },
      {
        maxBytes: Math.min(maxBytes, maxImageBytes),
        timeoutMs: maxImageMs,
        maxRedirects,
        openHosts,
        ...defined({ onHop }),
      },
    )
    if (answer.status < 200 || answer.status > 299) {
      answer.cancel()
      throw new OutboundError('unsupported', `${answer.host} answered ${answer.status}.`)
    }
    const binary = toBinary(await answer.bytes())
    const [type] = kinds.find(([, begins]) => begins.test(binary)) ?? []
    if (type === undefined)
      throw new OutboundError('unsupported', 'The file is no PNG, JPEG, GIF or WebP image.')
    return `data:${type};base64,${btoa(binary)}`
  }
}

/** So many arguments may a call have. */
const maxPiece = 0x8000

function toBinary(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += maxPiece)
    binary += String.fromCharCode(...bytes.subarray(at, at + maxPiece))
  return binary
}
