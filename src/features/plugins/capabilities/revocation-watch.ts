import { IsolaError } from '#contracts/errors.ts'
import type { HeldPart } from '#runtime/catalog/types/generation.ts'
import type { McpPin } from '#runtime/catalog/types/mcp.ts'
import type { Clock } from '#contracts/sources.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'

/** A shorter call does not listen: it is checked when it begins and before each use of a grant. */
const listenAfterMs = 250
/** Pause before a call listens again after the Catalog could not be reached. */
const againAfterMs = 1_000

/** Whether one call may go on. */
export interface RevocationWatch {
  /**
   * Fires when the plugin is switched off, or one of its grants is revoked. Absent for a plugin that ships with the
   * deployment.
   */
  readonly signal?: AbortSignal
  /** Called before each use of a grant. Throws `tool_denied` if the grants changed, or the Catalog does not answer. */
  readonly check: () => Promise<void>
  readonly end: () => void
}

/** Throws `tool_denied` if a call of the plugin may not begin now. */
export type WatchRevocation = (plugin: LoadedPlugin) => Promise<RevocationWatch>

/** Reads whether an extension is in force, and listens for its end. */
export interface RevocationDeps {
  /** By a copy of the Catalog's that is at most a second old. Throws without such a copy. */
  readonly stands: (part: HeldPart) => Promise<boolean>
  /** Calls `onGone` if the extension ends before `over` fires. Returns when to call it again; may throw. */
  readonly hold: (part: HeldPart, onGone: () => void, over: AbortSignal) => Promise<void>
  readonly clock: Clock
}

const endless: RevocationWatch = { check: async () => {}, end: () => {} }

/**
 * A run carries the generation that it was wired with. A call of an installed plugin compares the grant epoch of that
 * generation with this isolate's copy of the generation in force, when the call begins and before each use of a
 * grant. A copy older than a second is read again first; the call's gates have usually begun that read. A running
 * call listens besides, so that a revocation ends it at once (docs/security.md G12,
 * docs/decisions/0112-how-fast-a-change-holds.md).
 */
export const createRevocationWatch =
  (deps: RevocationDeps): WatchRevocation =>
  async ({ manifest: { id }, grantEpoch: epoch }) =>
    epoch === undefined ? endless : watchPart({ kind: 'plugin', id, epoch }, deps)

/** The same for a remote server, with the epoch of its approval. */
export const createServerRevocationWatch =
  (deps: RevocationDeps) =>
  ({ id, epoch }: Pick<McpPin, 'id' | 'epoch'>): Promise<RevocationWatch> =>
    watchPart({ kind: 'mcp', id, epoch }, deps)

/** @throws `tool_denied` if the extension is not in force now. */
async function watchPart(part: HeldPart, deps: RevocationDeps): Promise<RevocationWatch> {
  const gone = new AbortController()
  const over = new AbortController()
  const check = async (): Promise<void> => {
    const stands = await deps.stands(part).catch(() => undefined)
    // Only a known revocation ends the call: it may go on while the Catalog does not answer.
    if (stands === false) gone.abort(revoked())
    if (!stands) throw revoked()
  }
  await check()
  void listen(part, deps, { gone, over: over.signal })
  return { signal: gone.signal, check, end: () => over.abort() }
}

/** Listens until the extension ends or the call is over. Never rejects. */
async function listen(
  part: HeldPart,
  { hold, clock }: RevocationDeps,
  { gone, over }: { readonly gone: AbortController; readonly over: AbortSignal },
): Promise<void> {
  const onGone = () => gone.abort(revoked())
  await clock.sleep(listenAfterMs, over)
  while (!over.aborted && !gone.signal.aborted) {
    const isHeard = await hold(part, onGone, over).then(
      () => true,
      () => false,
    )
    if (!isHeard) await clock.sleep(againAfterMs, over)
  }
}

const revoked = () =>
  new IsolaError(
    'tool_denied',
    'This plugin was switched off, or what it was allowed was taken back.',
  )
