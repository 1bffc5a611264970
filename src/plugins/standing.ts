import { IsolaError } from '#contracts/errors.ts'
import type { PluginSnapshot } from '#contracts/plugin-catalog.ts'
import type { Clock } from '#contracts/sources.ts'
import type { LoadedPlugin } from './in-process-host.ts'

/** While a call runs, this often it is looked up whether the plugin may still do what it does. */
const lookEveryMs = 250
/** If it cannot be looked up for so long, it may not. */
const maxBlindMs = 800

/** One call's leave to go on. */
export interface Leave {
  /** Fires when the plugin was switched off, or something it was allowed was taken back; absent where neither can be. */
  readonly signal?: AbortSignal
  readonly end: () => void
}

/** Throws `tool_denied` if the plugin has no leave to begin. */
export type TakeLeave = (plugin: LoadedPlugin) => Promise<Leave>

export interface StandingDeps {
  readonly snapshot: () => Promise<PluginSnapshot>
  readonly clock: Clock
}

const endless: Leave = { end: () => {} }

/**
 * Whoever runs an installed plugin looks, before and while it runs, whether the permit it runs under still stands:
 * what is revoked has ended within a second, wherever it runs, and also if nobody can be asked (SECURITY.md, G12).
 */
export function createTakeLeave({ snapshot, clock }: StandingDeps): TakeLeave {
  const stands = async ({ manifest, grantEpoch }: LoadedPlugin): Promise<boolean> => {
    const { installed } = await snapshot()
    return installed.some((pin) => pin.id === manifest.id && pin.grantEpoch === grantEpoch)
  }
  return async (plugin) => {
    if (plugin.grantEpoch === undefined) return endless
    if (!(await stands(plugin).catch(() => false))) throw revoked()
    const gone = new AbortController()
    const over = new AbortController()
    void watch(() => stands(plugin), { clock, over: over.signal }).then(() => gone.abort(revoked()))
    return { signal: gone.signal, end: () => over.abort() }
  }
}

/** Resolves when it stands no more; never once the call is over. */
async function watch(
  stands: () => Promise<boolean>,
  { clock, over }: { readonly clock: Clock; readonly over: AbortSignal },
): Promise<void> {
  let seenAtMs = clock.nowMs()
  for (;;) {
    await clock.sleep(lookEveryMs, over)
    if (over.aborted) return new Promise(() => {})
    const answer = await stands().catch(() => undefined)
    if (answer === true) seenAtMs = clock.nowMs()
    if (answer === false || clock.nowMs() - seenAtMs > maxBlindMs) return
  }
}

const revoked = () =>
  new IsolaError(
    'tool_denied',
    'This plugin was switched off, or what it was allowed was taken back.',
  )
