import type { JsonObject } from '#contracts/json.ts'
import type { ToolManifest } from '../types/manifest.ts'
import { isElsewhere } from '#runtime/kernel/types/label-rules.ts'
import { joinLabels, type Label } from '#contracts/label.ts'
import { isOpen, type OutsideAddress } from '#contracts/destination.ts'
import { namedHosts } from '#features/policy/types.ts'
import type { NetworkRule } from '#runtime/catalog/types/plugin-catalog.ts'
import { policyOf, type PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import type { CheckUrl } from '#contracts/outbound.ts'
import type { IsOpen } from './egress.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'

/**
 * The hosts that the operator opened, from the cached generation in force. While the Catalog does not answer, the
 * last one that was read counts, however old, as for the rest of the policy. If none was ever read, no host is open.
 */
export interface NetworkNow {
  readonly rule: () => Promise<NetworkRule | undefined>
  /** Hosts and ports at which a development server answers itself. */
  readonly ownHosts: readonly string[]
}

/** Where the policy's network section is read. */
export interface NetworkNowDeps {
  readonly snapshot: () => Promise<PluginSnapshot>
  readonly ownHosts: readonly string[]
}

/** The network section of the policy in force; `undefined` if the Catalog never answered. */
export const createNetworkNow = ({ snapshot, ownHosts }: NetworkNowDeps): NetworkNow => ({
  rule: () =>
    snapshot().then(
      (known) => policyOf(known).network,
      () => undefined,
    ),
  ownHosts,
})

/**
 * The hosts that are open to one call: those the operator opened, and the origin that an approver was shown and
 * allowed. A redirect must stay within these.
 */
export function createOpenNow(
  { rule, ownHosts }: NetworkNow,
  approved: OutsideAddress | undefined,
): () => Promise<IsOpen> {
  const origin = approved && new URL(approved.url).origin
  return async () => {
    const now = await rule()
    return (to) =>
      (origin !== undefined && new URL(to.url).origin === origin) ||
      (now !== undefined && isOpen(to, now, ownHosts))
  }
}

const withoutWww = (host: string): string => host.replace(/^www\./, '')

/**
 * Whether a redirect to another host is followed. With a stranger's text in the conversation, only to a host that was
 * read before or that the operator named; with private data, only to the single place that all of it came from. Any
 * other redirect needs a call of its own, because a redirect takes along the data in its address.
 */
export function createMayFollow(
  { rule }: NetworkNow,
  label: Label | undefined,
): (to: OutsideAddress, from: URL) => Promise<boolean> {
  return async (to, from) => {
    const { host } = new URL(to.url)
    if (withoutWww(host) === withoutWww(from.host)) return true
    const known = joinLabels([label])
    if (known.integrity !== 'stranger') return true
    const now = await rule()
    const isNamed = now !== undefined && isOpen(to, { hosts: namedHosts(now) }, [])
    return !isElsewhere(known, { home: `* ${host}`, isNamed })
  }
}

/**
 * The destination of a tool that takes any address: its plugin has a grant of every host, it declares
 * `openWorldHint`, and its input has a `url`. `undefined` for an address that the egress always refuses: no approver
 * is asked then, and the call fails with the reason.
 */
export function goesToOf(
  { tier, granted }: Pick<LoadedPlugin, 'tier' | 'granted'>,
  { annotations, input_schema: schema }: ToolManifest,
  { checkUrl }: { readonly checkUrl: CheckUrl },
): ((input: JsonObject) => OutsideAddress | undefined) | undefined {
  const isWide = tier === 'builtin' && granted.network.some(({ host }) => host === '*')
  const takesUrl = Object.hasOwn(Object(schema['properties']), 'url')
  if (!isWide || !takesUrl || annotations.openWorldHint !== true) return undefined
  return ({ url, method = 'GET' }) =>
    typeof url === 'string' && typeof method === 'string' && mayLeave(url, checkUrl)
      ? { method: method.toUpperCase(), url }
      : undefined
}

function mayLeave(url: string, checkUrl: CheckUrl): boolean {
  try {
    checkUrl(url)
    return true
  } catch {
    return false
  }
}
