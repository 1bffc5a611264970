import { isOfThisMachine } from '#contracts/destination.ts'
import { isPublicHost } from '#platform/outbound/types.ts'

/**
 * Whether a host in a manifest or a setting could ever be reached: every host (`*`), this machine in development by one
 * of its three names, or a public host, in any spelling of its address.
 */
export function isReachableHost(host: string): boolean {
  if (host === '*' || isOfThisMachine(host)) return true
  const url = `https://${host.replace(/^\*\./, '')}/`
  return URL.canParse(url) && isPublicHost(new URL(url).hostname)
}
