import type { DeploymentDraft, DeploymentLog } from '#contracts/event.ts'
import type { McpPin, McpServerStore } from '#runtime/catalog/types/mcp.ts'
import type { PluginSnapshot } from '#runtime/catalog/types/generation.ts'
import type { PluginAdministration, BundleStore } from '#runtime/catalog/types/plugin-catalog.ts'
import type { Clock } from '#contracts/sources.ts'
import { createMcpAdministration } from './administration.ts'
import { wireServers } from './approved.ts'
import { createMcpDecisions } from './change-server.ts'
import { forgetPrincipal, createMcpGateway, rotateServers, createSessionEnded } from './gateway.ts'
import type { McpServerRuntime } from './server-parts.ts'
import { toOfferEntries } from './offer-entries.ts'
import { toServerEntries, type ServerRevocationWatch } from './server-entries.ts'

/** The dependencies of the room. */
interface McpParts extends Omit<McpServerRuntime, 'onQuarantined' | 'onSignedIn'> {
  readonly namespace: Parameters<typeof createMcpGateway>[0]['namespace']
  readonly store: McpServerStore
  readonly bundles: BundleStore
  readonly clock: Clock
  readonly watchRevocation: (pin: McpPin) => Promise<ServerRevocationWatch>
  /** Ids of what ships with the deployment: plugins, and owners of tools that are none's. */
  readonly bundledIds: () => ReadonlySet<string>
  readonly log: DeploymentLog
  readonly onFault: (error: unknown) => void
}

/** The parts of this room, for the composition. */
export function composeMcp(deps: McpParts) {
  const { store, bundles, clock, sha256, checkUrl, log, onFault } = deps
  const at = createMcpGateway(deps)
  const isTaken = (id: string) =>
    id === 'isola' || id === 'orchestrator' || deps.bundledIds().has(id)
  const append = (draft: DeploymentDraft, { principal = '', trace = '' } = {}) =>
    log
      .append({ ...draft, principal, trace, atMs: clock.nowMs() })
      .catch((error: unknown) => onFault(error))
  const runtime: McpServerRuntime = {
    ...deps,
    onQuarantined: (data) => void append({ type: 'mcp_quarantined', data }),
    onSignedIn: (data, principal = '') =>
      void append(
        'refused' in data ? { type: 'mcp_sign_in_refused', data } : { type: 'mcp_signed_in', data },
        { principal },
      ),
  }
  return {
    runtime,
    rotate: () => rotateServers(deps, at),
    sessionEnded: createSessionEnded(deps, at),
    forgetLogins: (principal: string) => forgetPrincipal(principal, { store, at }),
    decisions: createMcpDecisions({ store, bundles, nowMs: clock.nowMs, checkUrl, isTaken }),
    wire: (snapshot: PluginSnapshot, taken: readonly string[]) =>
      wireServers(snapshot, {
        taken: new Set(taken),
        toEntries: (pin, items) => {
          const { watchRevocation, validator } = deps
          const entryDeps = { at, watchRevocation, sha256, validator }
          return [
            ...toServerEntries(pin, items, entryDeps),
            ...toOfferEntries(pin, items, entryDeps),
          ]
        },
      }),
    administration: (
      catalog: Pick<PluginAdministration, 'change'>,
      toolNames: () => Promise<readonly string[]>,
    ) =>
      createMcpAdministration({
        store,
        catalog,
        bundles,
        at,
        sha256,
        toolNames,
        told: append,
      }),
  }
}
