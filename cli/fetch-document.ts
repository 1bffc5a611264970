// Documents from an address, as `isola knowledge add` fetches them. Neither the author of the address nor the page
// behind
// it may have this machine or its network read.
import { lookup } from 'node:dns/promises'
import { isReachable, unreachableText, isPublicHost } from '../src/platform/outbound/types.ts'
import { isOfThisMachine } from '../src/contracts/destination.ts'

/** The network that fetching uses. */
interface Fetching {
  readonly send: typeof fetch | undefined
  /** Hosts of this machine that an operator opened; asked for once, and only where one is named. */
  readonly openHosts: () => Promise<readonly string[]>
  /** All addresses of a name. */
  readonly resolve?: (name: string) => Promise<readonly string[]>
}

const maxRedirects = 5
const timeoutMs = 60_000

/**
 * Fetches from a public host, or from one of this machine that an operator opened: so too on every redirect, and so too
 * the addresses that a name stands for. A name may stand for others a moment later; what then answers is still only
 * read.
 */
export async function fetchDocument(
  address: string,
  { send = fetch, openHosts, resolve = resolverFor(send) }: Fetching,
): Promise<Response> {
  const signal = AbortSignal.timeout(timeoutMs)
  let url = new URL(address)
  let from: URL | undefined
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const hosts = isOfThisMachine(url.host) ? await openHosts() : []
    if (!/^https?:$/.test(url.protocol) || !isReachable(url, { hosts, from })) throw refused(url)
    if (isPublicHost(url.hostname) && !(await resolve(url.hostname)).every(isPublicAddress))
      throw refused(url)
    const response = await send(url.href, { signal, redirect: 'manual' })
    const location = response.headers.get('location')
    if (response.status < 300 || response.status > 399 || location === null) return response
    await response.body?.cancel()
    if (!URL.canParse(location, url.href)) throw new Error('It redirects to what is no address.')
    from = url
    url = new URL(location, url.href)
  }
  throw new Error(`It redirects more than ${maxRedirects} times.`)
}

const refused = (url: URL) => new Error(`It was not asked: ${unreachableText(url)}`)

const isPublicAddress = (address: string) =>
  isPublicHost(
    address.includes(':') ? new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname : address,
  )

/** The machine's own resolver, which is what its `fetch` asks; another way there has names of its own. */
const resolverFor = (send: typeof fetch): NonNullable<Fetching['resolve']> =>
  send === globalThis.fetch
    ? async (name) =>
        (await lookup(name.replace(/^\[|\]$/g, ''), { all: true })).map(({ address }) => address)
    : async () => []
