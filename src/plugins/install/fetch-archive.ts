import { errorMessage, IsolaError } from '#contracts/errors.ts'
import { bundleCaps } from '#contracts/plugin-bundle.ts'
import type { Clock } from '#contracts/sources.ts'
import type { FetchFunction } from '../egress.ts'
import { checkEgress } from '../egress-rules.ts'

const maxRedirects = 5
const timeoutMs = 30_000

/** How an archive is fetched from an address. */
export interface FetchArchiveDeps {
  /** The platform's fetch, injected. Always called with `redirect: 'manual'`. */
  readonly fetch: FetchFunction
  /** Only then is loopback reachable. */
  readonly isDevelopment: boolean
  readonly clock: Clock
}

/**
 * Fetches an archive that the operator named: https from a public host, redirects checked again, no credentials, size
 * counted while it is read, all of it within 30 seconds.
 *
 * @throws `request_invalid` (`url`) for an address that is refused, `plugin_source_unavailable` for what did not come.
 */
export async function fetchArchive(text: string, deps: FetchArchiveDeps): Promise<Uint8Array> {
  const over = new AbortController()
  const timer = new AbortController()
  const late = deps.clock.sleep(timeoutMs, timer.signal).then(() => {
    over.abort()
    throw unavailable(`did not come within ${timeoutMs / 1_000} seconds`)
  })
  try {
    return await Promise.race([read(text, deps, over.signal), late])
  } finally {
    timer.abort()
    // What is still on its way is let go of.
    over.abort()
  }
}

async function read(
  text: string,
  deps: FetchArchiveDeps,
  signal: AbortSignal,
): Promise<Uint8Array> {
  let url = check(text, deps)
  for (let redirects = 0; ; redirects += 1) {
    const response = await deps
      .fetch(url.href, { redirect: 'manual', signal })
      .catch((cause: unknown) => {
        throw unavailable(`: ${url.hostname} could not be reached`, cause)
      })
    const location = response.headers.get('location')
    if (response.status < 300 || response.status > 399 || location === null) {
      if (response.status === 200) return readBody(response)
      await response.body?.cancel()
      throw unavailable(`: ${url.hostname} answered ${response.status}`)
    }
    await response.body?.cancel()
    if (redirects >= maxRedirects) throw unavailable(`: more than ${maxRedirects} redirects`)
    url = check(location, deps, url)
  }
}

/** The rules of every request that leaves for a plugin; any public host, since it is the operator who asks. */
function check(text: string, { isDevelopment }: FetchArchiveDeps, from?: URL): URL {
  try {
    const grants = [{ host: '*', methods: ['GET' as const] }]
    return checkEgress(
      { url: text, method: 'GET', ...(from && { from }) },
      { grants, tier: 'builtin', isDevelopment, isOpen: () => true },
    )
  } catch (error) {
    throw new IsolaError('request_invalid', `url: ${errorMessage(error)}`, { param: 'url' })
  }
}

async function readBody(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let sizeBytes = 0
  const reader = response.body?.getReader()
  if (!reader) throw unavailable('was empty')
  for (;;) {
    const step = await reader.read().catch((cause: unknown) => {
      throw unavailable('broke off', cause)
    })
    if (step.done) break
    sizeBytes += step.value.byteLength
    if (sizeBytes > bundleCaps.maxArchiveBytes) {
      await reader.cancel().catch(() => undefined)
      throw new IsolaError(
        'plugin_upload_invalid',
        `The archive is larger than ${bundleCaps.maxArchiveBytes} bytes.`,
      )
    }
    chunks.push(step.value)
  }
  const whole = new Uint8Array(sizeBytes)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return whole
}

function unavailable(what: string, cause?: unknown): IsolaError {
  const message = `The archive ${what}.`.replace(' :', ':')
  return new IsolaError('plugin_source_unavailable', message, {
    param: 'url',
    transient: true,
    ...(cause !== undefined && { cause }),
  })
}
