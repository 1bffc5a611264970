import type { JsonObject } from '#contracts/json.ts'
import type { ToolManifest } from '#contracts/manifest.ts'
import { isOpen, type NetworkRule, type OutsideAddress } from '#contracts/network-rule.ts'
import type { PluginSnapshot } from '#contracts/plugin-catalog.ts'
import { defaultToolPolicy } from '#contracts/tool-policy.ts'
import type { EgressRules } from './egress-rules.ts'
import type { LoadedPlugin } from './in-process-host.ts'

/** What the operator opened, a moment old at most; nothing is open where that cannot be known. */
export interface NetworkNow {
  readonly rule: () => Promise<NetworkRule | undefined>
  /** Hosts and ports at which a server in development itself answers. */
  readonly ownHosts: readonly string[]
}

export interface NetworkNowDeps {
  readonly snapshot: () => Promise<PluginSnapshot>
  readonly heard: () => PluginSnapshot | undefined
  readonly ownHosts: readonly string[]
}

export const createNetworkNow = ({ snapshot, heard, ownHosts }: NetworkNowDeps): NetworkNow => ({
  async rule() {
    const known = await snapshot().catch(heard)
    return known && (known.policy ?? defaultToolPolicy).network
  },
  ownHosts,
})

/**
 * What is open to one call: what the operator opened, and with somebody's approval the place that this person was
 * shown. A redirect stays there, or goes to what is open to everybody.
 */
export function createOpenNow(
  { rule, ownHosts }: NetworkNow,
  approved: OutsideAddress | undefined,
): () => Promise<EgressRules['isOpen']> {
  const origin = approved && new URL(approved.url).origin
  return async () => {
    const now = await rule()
    return (to) =>
      (origin !== undefined && new URL(to.url).origin === origin) ||
      (now !== undefined && isOpen(to, now, ownHosts))
  }
}

/** Where a call of a tool goes that reads whatever address it is given: so its plugin was granted, and its input says. */
export function goesToOf(
  { tier, granted }: Pick<LoadedPlugin, 'tier' | 'granted'>,
  { input_schema: schema }: ToolManifest,
): ((input: JsonObject) => OutsideAddress | undefined) | undefined {
  const isWide = tier === 'builtin' && granted.network.some(({ host }) => host === '*')
  if (!isWide || !Object.hasOwn(Object(schema['properties']), 'url')) return undefined
  return ({ url, method = 'GET' }) =>
    // What is no address is refused on its way out.
    typeof url === 'string' && typeof method === 'string' && URL.canParse(url)
      ? { method: method.toUpperCase(), url }
      : undefined
}
