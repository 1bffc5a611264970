import { IsolaError } from '#contracts/errors.ts'
import type { McpPin } from '#contracts/mcp.ts'
import type { PluginSnapshot } from '#contracts/plugin-catalog.ts'
import type { Clock } from '#contracts/sources.ts'
import type { LoadedPlugin } from './in-process-host.ts'

/** While a call runs, this often it is looked up whether the plugin may still do what it does. */
const lookEveryMs = 250
/** If it cannot be looked up for so long, it may not; an answer that does not come is none. */
const maxBlindMs = 800
/** Before it begins it has nothing in its hands, and whoever is asked may have to start first. */
const maxFirstLookMs = 5_000

/** Whether one call may go on. */
export interface RevocationWatch {
  /** Fires when the plugin was switched off, or something it was allowed was taken back; absent where neither can be. */
  readonly signal?: AbortSignal
  readonly end: () => void
}

/** Throws `tool_denied` if the plugin may not begin now. */
export type WatchRevocation = (plugin: LoadedPlugin) => Promise<RevocationWatch>

/** Where it is looked up what is enabled now. */
export interface RevocationDeps {
  readonly snapshot: () => Promise<PluginSnapshot>
  readonly clock: Clock
}

const endless: RevocationWatch = { end: () => {} }

/**
 * Whoever runs an installed plugin looks, before and while it runs, whether the permit it runs under still holds:
 * what is revoked has ended within a second, wherever it runs, and also if nobody can be asked (docs/security.md G12).
 */
export function createRevocationWatch({ snapshot, clock }: RevocationDeps): WatchRevocation {
  const isPermitted = async ({ manifest, grantEpoch }: LoadedPlugin): Promise<boolean> => {
    const { installed } = await snapshot()
    return installed.some((pin) => pin.id === manifest.id && pin.grantEpoch === grantEpoch)
  }
  return async (plugin) =>
    plugin.grantEpoch === undefined ? endless : watchPermit(() => isPermitted(plugin), clock)
}

/** The same for a remote server: its calls go on while it is enabled as it was when they began. */
export function createServerRevocationWatch({ snapshot, clock }: RevocationDeps) {
  return (server: Pick<McpPin, 'id' | 'epoch'>): Promise<RevocationWatch> =>
    watchPermit(async () => {
      const { mcp = [] } = await snapshot()
      return mcp.some((pin) => pin.id === server.id && pin.epoch === server.epoch)
    }, clock)
}

/** @throws `tool_denied` if it is not permitted now. */
async function watchPermit(
  isPermitted: () => Promise<boolean>,
  clock: Clock,
): Promise<RevocationWatch> {
  if (!(await within(maxFirstLookMs, isPermitted, clock))) throw revoked()
  const gone = new AbortController()
  const over = new AbortController()
  void untilRevoked(isPermitted, { clock, over: over.signal }).then(() => gone.abort(revoked()))
  return { signal: gone.signal, end: () => over.abort() }
}

/** Resolves when it is permitted no more; never once the call is over. */
async function untilRevoked(
  isPermitted: () => Promise<boolean>,
  { clock, over }: { readonly clock: Clock; readonly over: AbortSignal },
): Promise<void> {
  let seenAtMs = clock.nowMs()
  for (;;) {
    await clock.sleep(lookEveryMs, over)
    if (over.aborted) return new Promise(() => {})
    const askedAtMs = clock.nowMs()
    const answer = await within(seenAtMs + maxBlindMs - askedAtMs, isPermitted, clock)
    if (over.aborted) return new Promise(() => {})
    // It was permitted when it was asked; the answer may be late.
    if (answer === true) seenAtMs = askedAtMs
    if (answer === false || clock.nowMs() - seenAtMs >= maxBlindMs) return
  }
}

/** The answer, or `undefined` if there is none in time. */
async function within(
  ms: number,
  ask: () => Promise<boolean>,
  clock: Clock,
): Promise<boolean | undefined> {
  const answered = new AbortController()
  const late = clock.sleep(Math.max(ms, 0), answered.signal).then(() => undefined)
  try {
    return await Promise.race([ask().catch(() => undefined), late])
  } finally {
    answered.abort()
  }
}

const revoked = () =>
  new IsolaError(
    'tool_denied',
    'This plugin was switched off, or what it was allowed was taken back.',
  )
