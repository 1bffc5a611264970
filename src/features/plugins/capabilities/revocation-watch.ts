import { IsolaError } from '#contracts/errors.ts'
import type { HeldPart } from '#runtime/catalog/types/generation.ts'
import type { McpPin } from '#runtime/catalog/types/mcp.ts'
import type { Clock } from '#contracts/sources.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'

/** A call that is over sooner listens to nobody: what it does is looked up before each thing it does. */
const listenAfterMs = 250
/** Whoever cannot listen tries again after so long. */
const againAfterMs = 1_000

/** Whether one call may go on. */
export interface RevocationWatch {
  /** Fires when the plugin was switched off, or something it was allowed was taken back; absent where neither can be. */
  readonly signal?: AbortSignal
  /** Before each use of what it was allowed. Throws `tool_denied` if it is not now, or nobody knows. */
  readonly check: () => Promise<void>
  readonly end: () => void
}

/** Throws `tool_denied` if the plugin may not begin now. */
export type WatchRevocation = (plugin: LoadedPlugin) => Promise<RevocationWatch>

/** Where it is looked up what is in force now, and who tells when it is not any more. */
export interface RevocationDeps {
  /** May throw: then nobody knows. */
  readonly stands: (part: HeldPart) => Promise<boolean>
  /** Calls `onGone` if the part goes before `over` fires. Answers when it is to be asked again; may throw. */
  readonly hold: (part: HeldPart, onGone: () => void, over: AbortSignal) => Promise<void>
  readonly clock: Clock
}

const endless: RevocationWatch = { check: async () => {}, end: () => {} }

/**
 * Whoever runs an installed plugin looks, before each thing it does, whether the permit it runs under still holds, and is
 * told when it does not any more: what is revoked has ended within a second, wherever it runs (docs/security.md G12).
 * While nobody can be asked nothing that was allowed is used; what is under way goes on.
 */
export const createRevocationWatch =
  (deps: RevocationDeps): WatchRevocation =>
  async ({ manifest: { id }, grantEpoch: epoch }) =>
    epoch === undefined ? endless : watchPart({ kind: 'plugin', id, epoch }, deps)

/** The same for a remote server: its calls go on while it is enabled as it was when they began. */
export const createServerRevocationWatch =
  (deps: RevocationDeps) =>
  ({ id, epoch }: Pick<McpPin, 'id' | 'epoch'>): Promise<RevocationWatch> =>
    watchPart({ kind: 'mcp', id, epoch }, deps)

/** @throws `tool_denied` if it is not in force now. */
async function watchPart(part: HeldPart, deps: RevocationDeps): Promise<RevocationWatch> {
  const gone = new AbortController()
  const over = new AbortController()
  const check = async (): Promise<void> => {
    const stands = await deps.stands(part).catch(() => undefined)
    // Only what is known to be gone ends what is under way.
    if (stands === false) gone.abort(revoked())
    if (!stands) throw revoked()
  }
  await check()
  void listen(part, deps, { gone, over: over.signal })
  return { signal: gone.signal, check, end: () => over.abort() }
}

/** Until the part goes or the call is over; who cannot be told looks again. Never rejects. */
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
