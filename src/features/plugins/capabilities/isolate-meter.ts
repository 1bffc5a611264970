import type { AskStorage } from './storage/granted-storage.ts'
import { withSafeErrors } from './storage/granted-storage.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Clock } from '#contracts/sources.ts'
import type { ToolContext } from '#contracts/tool.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import type { ScopedStorage } from './storage/scoped-storage.ts'

/** What a call's isolate costs: nothing if its id was used on this day, else the price, unless the lease lacks it. */
export type Metered = { readonly ok: true; readonly costNanoUsd: number } | { readonly ok: false }

/** Cloudflare bills each isolate id once a day (UTC), at its first use. */
export interface IsolateMeter {
  readonly priceNanoUsd: number
  /** Throws a ToolError if it cannot be told what was used already. */
  readonly charge: (plugin: LoadedPlugin, context: ToolContext) => Promise<Metered>
}

/** What a new isolate costs, and who is charged. Billionths of a US dollar. */
export interface IsolateMeterDeps {
  /** 0: nothing is counted and nothing written. */
  readonly priceNanoUsd: number
  readonly clock: Pick<Clock, 'nowMs'>
  readonly sessions: SessionGateway
  readonly scopedStorage: Pick<ScopedStorage, 'ofPlugin'>
}

/** A space that no plugin can name: theirs begin with `plugin:`. */
const space = 'isolates'
/** How much of an id is kept: enough that no two are alike. */
const keyChars = 32
const maxRemembered = 1_000
const free: Metered = { ok: true, costNanoUsd: 0 }

/**
 * Which ids were used today is kept where all who use one meet: of community code in the root session, of the rest in
 * the plugin's own object. One write for each new id; what was used once is remembered here and asks nobody.
 */
export function createIsolateMeter(deps: IsolateMeterDeps): IsolateMeter {
  const { priceNanoUsd, clock, sessions, scopedStorage } = deps
  // No promises: all sessions of this isolate share it, and one that is aborted leaves its own open for good.
  const used = new Set<string>()
  const askOf = (plugin: LoadedPlugin, { rootSession }: ToolContext): AskStorage =>
    withSafeErrors(
      plugin.tier === 'community'
        ? (request) => sessions.at(rootSession).storage(request)
        : scopedStorage.ofPlugin(plugin.manifest.id),
    )
  const begin = async (
    isolate: string,
    day: string,
    { plugin, context }: { readonly plugin: LoadedPlugin; readonly context: ToolContext },
  ): Promise<Metered> => {
    const ask = askOf(plugin, context)
    const key = isolate.slice(0, keyChars)
    if (context.lease.maxCostNanoUsd < priceNanoUsd) {
      const { value } = await ask({ verb: 'get', space, key })
      return value === day ? free : { ok: false }
    }
    const { found } = await ask({ verb: 'claim', space, key, value: day })
    if (found === true) return free
    context.emit({
      type: 'isolate_started',
      data: {
        call: context.call,
        plugin: plugin.manifest.id,
        version: plugin.manifest.version,
        tier: plugin.tier,
        isolate: isolate.slice(0, 12),
        costNanoUsd: priceNanoUsd,
      },
    })
    return { ok: true, costNanoUsd: priceNanoUsd }
  }
  return {
    priceNanoUsd,
    async charge(plugin, context) {
      const isolate = priceNanoUsd > 0 ? plugin.parts.isolateId?.(context) : undefined
      if (isolate === undefined) return free
      const day = new Date(clock.nowMs()).toISOString().slice(0, 10)
      const known = `${day} ${isolate}`
      if (used.has(known)) return free
      const metered = await begin(isolate, day, { plugin, context })
      if (used.size >= maxRemembered) used.clear()
      if (metered.ok) used.add(known)
      return metered
    },
  }
}
