import { OutboundError } from '#contracts/outbound.ts'
import { isOfThisMachine } from '#contracts/destination.ts'
import { isOutside, isPublicHost } from './types.ts'

/** The facts by which an address is judged. */
export interface AddressRules {
  /** Only then is loopback reachable (the operator turned development mode on). */
  readonly isDevelopment: boolean
  /** Where a redirect came from, or the text that named the address. */
  readonly from?: URL | undefined
  /** The address that the operator set, if the request is for one. */
  readonly operator?: string | undefined
}

/** Decides whether a request may leave for an address, and to which parsed URL. Throws `refused`, with what is wrong. */
export function checkAddress(text: string, rules: AddressRules): URL {
  const url = parseUrl(text, rules.from)
  const { operator } = rules
  // The very address of the setting: the usual case for model calls.
  if (operator === text || (operator !== undefined && isOfOperator(url, operator))) return url
  if (url.username !== '' || url.password !== '')
    throw refused('a URL with a user name or password')
  if (rules.isDevelopment && isLoopbackAsWritten(text, url)) {
    // A page out there must not be able to send us to a local server, not even in development.
    if (isLedFromOutside(rules)) throw refused('a redirect from outside to this machine')
    return url
  }
  if (url.protocol !== 'https:') throw notHttps(url)
  if (url.port !== '') throw refused(`port ${url.port} (only 443 is)`)
  if (!isPublicHost(url.hostname)) throw refused('a host that is not public')
  return url
}

const refused = (what: string) =>
  new OutboundError('refused', `The request was refused: ${what} is not allowed.`)

const notHttps = ({ protocol }: URL) =>
  new OutboundError(
    'refused',
    `The request was refused: the address begins with ${protocol}, and only https is allowed.`,
  )

function parseUrl(text: string, from: URL | undefined): URL {
  if (typeof text !== 'string' || text.length > 8_192 || !URL.canParse(text, from?.href))
    throw refused('what is not a URL')
  const url = new URL(text, from?.href)
  if (url.protocol === 'https:' || url.protocol === 'http:') return url
  throw notHttps(url)
}

/**
 * Whether the operator vouches for an address: the address of the setting, another port of its host, or an address
 * beside it in a network of the operator's own. A setting outside opens no address inside.
 */
function isOfOperator(url: URL, operator: string): boolean {
  const set = new URL(operator)
  if (url.origin === set.origin) return true
  if (url.username !== '' || url.password !== '') return false
  if (url.protocol === 'http:') return isLoopbackUrl(url) && isLoopbackUrl(set)
  return url.hostname === set.hostname || !isPublicHost(set.hostname)
}

/** Whether what led here, or what the operator set, is outside. */
const isLedFromOutside = ({ from, operator }: AddressRules): boolean =>
  isOutside(from) || (operator !== undefined && isOutside(new URL(operator)))

const loopbackSpelling =
  /^(?:https?:)?\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?(?:[/?#]|$)/i

/** Loopback must be written as one of three names: other spellings such as 0x7f.1 stay refused in development too. */
function isLoopbackAsWritten(text: string, url: URL): boolean {
  const isAbsolute = /^\s*([a-z][a-z0-9+.-]*:|[\\/]{2})/i.test(text)
  return loopbackSpelling.test(isAbsolute ? text : url.href)
}

const isLoopbackUrl = ({ host }: URL): boolean => isOfThisMachine(host)
