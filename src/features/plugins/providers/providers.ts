import { headOf } from '#contracts/cut.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import { deploymentEvent, type EventDraft } from '#contracts/event.ts'
import type { DeploymentLogs } from '#platform/d1/types.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import { providerKinds, type AskProvider, type ProviderKind } from '#contracts/provider.ts'
import { providerTexts } from '#runtime/catalog/types/permit.ts'
import type { Clock } from '#contracts/sources.ts'
import { openCapabilities } from '../capabilities/capabilities.ts'
import type { CapabilityDeps } from '../capabilities/capability-deps.ts'
import { toHookCapabilities } from '../hooks/call-hook.ts'
import { toHookContext } from '../hooks/hook-context.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { defaultTimeoutMs, maxOutputBytes, OutputError } from '../types/plugin-output.ts'
import { jsonSizeBytes, toJson } from '../sandbox/json-border.ts'

interface ProvidersDeps {
  readonly capabilities: CapabilityDeps
  readonly clock: Clock
  readonly traceId: () => string
  readonly log: Pick<DeploymentLogs, 'appendAll'>
}

const timeoutMs = defaultTimeoutMs
/** Recorded events of one call. Bounded, so that a plugin cannot fill the record; the caller does not wait for them. */
const maxTold = 20

/** Finds the provider of each kind, and the problems where several plugins provide one kind. */
export function createProviders(
  plugins: readonly LoadedPlugin[],
  deps: ProvidersDeps,
): { readonly ask: AskProvider; readonly problems: readonly PluginProblem[] } {
  const of = (kind: ProviderKind) =>
    plugins.filter(({ manifest }) => manifest.contributes.providers.includes(kind))
  return {
    problems: providerKinds.flatMap((kind) => taken(kind, of(kind))),
    async ask(kind, { principal, request }) {
      const [plugin] = of(kind)
      if (!plugin) return undefined
      const { manifest, tier } = plugin
      const answer = await call(plugin, { kind, principal, request }, deps)
      return { from: manifest.id, isBelieved: tier !== 'community', answer }
    },
  }
}

/** Only one plugin may provide a kind: if several are enabled, each is refused with the name of another. */
const taken = (kind: ProviderKind, plugins: readonly LoadedPlugin[]): readonly PluginProblem[] =>
  plugins.length < 2
    ? []
    : plugins.map(({ manifest: { id } }) => {
        const other = plugins.find(({ manifest }) => manifest.id !== id)!.manifest.id
        const message =
          `contributes.providers: ${kind} is provided by the plugin "${other}" already, and one may. ` +
          `Switch that off first: isola plugin disable ${other}`
        return { plugin: id, code: 'plugin_name_collision', message }
      })

/** Calls a provider without a lease: the call belongs to no run. */
async function call(
  plugin: LoadedPlugin,
  {
    kind,
    principal,
    request,
  }: { readonly kind: ProviderKind; readonly principal: string; readonly request: JsonObject },
  deps: ProvidersDeps,
): Promise<Json> {
  const { capabilities: given, clock } = deps
  const { id } = plugin.manifest
  const over = new AbortController()
  const trace = deps.traceId()
  const events: EventDraft[] = []
  let emitted = 0
  const context = toHookContext({
    call: kind,
    run: '',
    session: '',
    rootSession: '',
    principal,
    agent: '',
    trace,
    depth: 0,
    ancestry: [],
    signal: over.signal,
    label: undefined,
    emit(event) {
      emitted += 1
      if (events.length < maxTold) events.push(event)
    },
  })
  try {
    const run = plugin.parts.providers?.[kind]
    // Rejects if the plugin was switched off, or its grants were revoked.
    const watch = await given.watchRevocation?.(plugin)
    const { capabilities, close } = openCapabilities(plugin, context, given, {
      check: watch?.check,
    })
    try {
      if (!run) throw new OutputError('has no code for it.')
      const late = clock.sleep(timeoutMs, over.signal).then(() => {
        throw new OutputError(`did not answer within ${timeoutMs / 1_000} seconds.`)
      })
      const work = run(request, toHookCapabilities(capabilities, context), context)
      const answer = toJson(await Promise.race([work, late]))
      if (jsonSizeBytes(answer) > maxOutputBytes) throw new OutputError('answered more than 1 MiB.')
      given.faults?.wentWell(plugin, principal)
      return answer
    } finally {
      close()
      watch?.end()
    }
  } catch (error) {
    if (errorCode(error) !== 'tool_denied') given.faults?.failed(plugin, error, context)
    throw toUnavailable(id, kind, error)
  } finally {
    over.abort()
    const place = { principal, trace, atMs: clock.nowMs() }
    const told = events.map(({ type, data }, at) =>
      deploymentEvent('provider_told', place, {
        ...(data as JsonObject),
        plugin: id,
        provider: kind,
        event: type,
        ...(at === maxTold - 1 && emitted > maxTold && { unrecorded: emitted - maxTold }),
      }),
    )
    void deps.log.appendAll(told).catch(() => undefined)
  }
}

/** Keeps the message only if the plugin or the host wrote it for callers; any other error may reveal internals. */
function toUnavailable(plugin: string, kind: ProviderKind, cause: unknown): IsolaError {
  const isTold = cause instanceof OutputError || errorCode(cause) === 'tool_failed'
  const why = isTold ? ` ${headOf(errorMessage(cause), 500)}` : ' failed.'
  const message = `The plugin "${plugin}", which ${providerTexts[kind]},${why}`
  return new IsolaError('request_unavailable', message, { transient: true, cause })
}
