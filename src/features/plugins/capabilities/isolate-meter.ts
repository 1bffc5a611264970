import type { AskStorage } from './storage/granted-storage.ts'
import { withSafeErrors } from './storage/granted-storage.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Clock } from '#contracts/sources.ts'
import type { ToolContext } from '#contracts/tool.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import type { ScopedStorage } from './storage/scoped-storage.ts'

/** The price of a call's isolate: nothing if its id was used today already. Not ok if the lease cannot pay it. */
type Metered = { readonly ok: true; readonly costNanoUsd: number } | { readonly ok: false }

/** Cloudflare bills each isolate id once a day (UTC), at its first use. */
export type IsolateMeter = ReturnType<typeof createIsolateMeter>

/** The price of a new isolate, and where uses are stored. Billionths of a US dollar. */
interface IsolateMeterDeps {
  /** 0: nothing is counted or written. */
  readonly priceNanoUsd: number
  readonly clock: Pick<Clock, 'nowMs'>
  readonly sessions: SessionGateway
  readonly scopedStorage: Pick<ScopedStorage, 'ofPlugin'>
}

/** A space that no plugin can name, because a plugin's space begins with `plugin:`. */
const space = 'isolates'
/** Stored length of an id: long enough to be unique. */
const keyChars = 32
const maxRemembered = 1_000
const free: Metered = { ok: true, costNanoUsd: 0 }

/**
 * Stores which isolate ids were used today in an object that all users of an id share: for community code the root
 * session, for other code the plugin's own object. Each new id costs one write; a known id is remembered in this
 * isolate and costs none.
 */
export function createIsolateMeter({
  priceNanoUsd,
  clock,
  sessions,
  scopedStorage,
}: IsolateMeterDeps) {
  // Holds no promises: all sessions of this isolate share the set, and a promise of an aborted session would stay
  // open for ever.
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
    /** Throws a ToolError if today's uses cannot be read. */
    async charge(plugin: LoadedPlugin, context: ToolContext): Promise<Metered> {
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
