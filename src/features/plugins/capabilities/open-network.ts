import type { JsonObject } from '#contracts/json.ts'
import type { ToolManifest } from '../types/manifest.ts'
import { isElsewhere } from '#runtime/kernel/types/label-rules.ts'
import { joinLabels, type Label } from '#contracts/label.ts'
import { isOpen, type OutsideAddress } from '#contracts/network-rule.ts'
import { namedHosts } from '#features/policy/types/network-rule.ts'
import { type NetworkRule } from '#runtime/catalog/types/network-rule.ts'
import { policyOf, type PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import type { CheckUrl } from '#contracts/outbound.ts'
import type { IsOpen } from './egress.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'

/**
 * What the operator opened, as the set in force is cached here. While the Catalog does not answer it is the last one that
 * was read, however old, as with the rest of the policy; where none ever was, nothing is open.
 */
export interface NetworkNow {
  readonly rule: () => Promise<NetworkRule | undefined>
  /** Hosts and ports at which a server in development itself answers. */
  readonly ownHosts: readonly string[]
}

/** Where the network of the policy is read. */
export interface NetworkNowDeps {
  readonly snapshot: () => Promise<PluginSnapshot>
  readonly ownHosts: readonly string[]
}

/** The network of the policy in force; `undefined` if the Catalog never answered. */
export const createNetworkNow = ({ snapshot, ownHosts }: NetworkNowDeps): NetworkNow => ({
  rule: () =>
    snapshot().then(
      (known) => policyOf(known).network,
      () => undefined,
    ),
  ownHosts,
})

/**
 * What is open to one call: what the operator opened, and with somebody's approval the place that this person was
 * shown. A redirect stays there, or goes to what is open to everybody.
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
 * Whether a redirect is followed to another host. With a stranger's text in the conversation only to one that was read
 * from or that the operator named, and with private data only to the one place that all of it is from: any other is
 * asked about like a call of its own, since a redirect of an honest host takes along what its address has in it.
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
 * Where a call of a tool goes that reads whatever address it is given: so its plugin was granted, it says that it
 * reaches out (`openWorldHint`), and its input says where. What egress refuses whatever is open goes nowhere: nobody is
 * asked about it, and the call fails with the reason.
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
