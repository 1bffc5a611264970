import * as z from 'zod'
import { withData, type EventDraft, type DeploymentEvent } from '#contracts/event.ts'
import { joinLabels, type Label } from '#contracts/label.ts'
import type { HookPoint } from '#runtime/catalog/types/permit.ts'
import type { HookEvent } from '#features/plugins/types/plugin.ts'
import type { ToolContext } from '#contracts/tool.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { labelsOfHook } from '../capabilities/plugin-flow.ts'
import { callHook, type CallHookDeps } from './call-hook.ts'
import { isFields } from '#contracts/foreign-json.ts'
import { headOf } from '#contracts/cut.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { HookOutcome } from '../sandbox/hook-batch.ts'
import { defaultHookTimeoutMs } from '../types/plugin-output.ts'

/** A plugin's parsed answer about one event. */
type HookSaid =
  | { readonly verdict: 'allow' }
  | { readonly verdict: 'vetoed'; readonly message: string }
  | { readonly verdict: 'changed'; readonly change: HookChange }
  | { readonly verdict: 'failed' }

/** A hook's change, checked against what its point may change. */
export interface HookChange {
  readonly input?: JsonObject
  readonly result?: Json
  readonly text?: string
}

const veto = z.string().transform((text) => headOf(text, maxVetoChars))
const input = z.custom<JsonObject>(isFields)
const result = z.custom<Json>((value) => value !== undefined)
const text = z.string().max(20_000)

const maxVetoChars = 500
const nothing = z.strictObject({})

/** The answers each point allows; any other answer is invalid. */
const answers: Readonly<Record<HookPoint, z.ZodType>> = {
  sessionStart: nothing,
  sessionEnd: nothing,
  sessionReset: nothing,
  beforeDispatch: z.strictObject({ veto: veto.optional() }),
  beforeModelCall: z.strictObject({ veto: veto.optional(), text: text.optional() }),
  afterModelCall: nothing,
  beforeToolCall: z.strictObject({ veto: veto.optional(), input: input.optional() }),
  afterToolCall: z.strictObject({ veto: veto.optional(), result: result.optional() }),
  subAgentStop: nothing,
}

/** No answer lets the event pass unchanged; a veto wins over a change. */
function readHookAnswer(on: HookPoint, outcome: HookOutcome): HookSaid {
  if ('failed' in outcome) return { verdict: 'failed' }
  if (outcome.answer === null) return { verdict: 'allow' }
  const read = answers[on].safeParse(outcome.answer)
  if (!read.success) return { verdict: 'failed' }
  const { veto: message, ...change } = read.data as HookChange & { readonly veto?: string }
  if (message !== undefined) return { verdict: 'vetoed', message }
  return Object.keys(change).length > 0 ? { verdict: 'changed', change } : { verdict: 'allow' }
}

/** The plugins that listen at a point, in the order in which they are asked: dependencies first. */
export const listenersAt = (
  plugins: readonly LoadedPlugin[],
  on: HookPoint,
): readonly LoadedPlugin[] =>
  plugins.filter(({ manifest }) => manifest.contributes.hooks.some((hook) => hook.on === on))

/** Whether an event is for this plugin: an event that does not match never leaves the host. */
const isFor = ({ manifest }: LoadedPlugin, on: HookPoint, name: string): boolean =>
  manifest.contributes.hooks.some((hook) => hook.on === on && isMatch(hook.match, name))

/** `kv__set` matches itself, `kv__*` every name with this beginning, `*` every name. */
const isMatch = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern

/** One event of a hook point, before or after it happens. */
export interface Asked {
  readonly event: HookEvent
  /** Compared with the manifest's `match`. */
  readonly name: string
  /** The context of the call that the event belongs to: session, principal, signal. */
  readonly context: ToolContext
  /** The event after a plugin's change, for the next plugin; the same event if absent. */
  readonly changed?: (event: HookEvent, change: HookChange) => HookEvent
}

/** The outcome of one event after all plugins. */
export interface Answered {
  readonly event: HookEvent
  /** The changes, in the order of the plugins. */
  readonly changes: readonly {
    readonly plugin: string
    readonly change: HookChange
    readonly label: Label
  }[]
  /** The plugin that vetoed or failed; later plugins are not asked. */
  readonly stopped?: { readonly plugin: string; readonly message?: string; readonly label?: Label }
}

/** Dependencies of the hooks. */
export interface HooksDeps extends CallHookDeps {
  /** Limit for all plugins together. Milliseconds. */
  readonly hookTimeoutMs?: number
  /** The longest result, as JSON, that a model gets; a hook may not make a result longer. */
  readonly maxResultChars: number
  readonly traceId: () => string
  /** Records that a hook was called after the session's own log has ended. Never rejects. */
  readonly record: (event: DeploymentEvent) => Promise<void>
}

/**
 * Informs the plugins that listen at a point of one event; their answers do not change it.
 *
 * @returns `undefined` without listeners.
 */
export async function askOne(
  on: HookPoint,
  { event, context }: { readonly event: Omit<HookEvent, 'on'>; readonly context: ToolContext },
  { plugins, deps }: { readonly plugins: readonly LoadedPlugin[]; readonly deps: HooksDeps },
): Promise<Answered | undefined> {
  const listeners = listenersAt(plugins, on)
  if (listeners.length === 0) return undefined
  const asked: Asked = { event: { on, ...event }, name: event.agent, context }
  const [answered] = await askPoint({ on, asked: [asked], listeners }, deps)
  return answered
}

interface Question {
  readonly on: HookPoint
  readonly asked: readonly Asked[]
  readonly listeners: readonly LoadedPlugin[]
}

/**
 * Takes the events of one moment through the listening plugins, one call for each plugin; each plugin sees the events
 * as the previous plugin changed them. Contract: never throws.
 */
export async function askPoint(
  { on, asked, listeners }: Question,
  deps: HooksDeps,
): Promise<readonly Answered[]> {
  const endsAtMs = deps.clock.nowMs() + (deps.hookTimeoutMs ?? defaultHookTimeoutMs)
  const answered: Answered[] = asked.map(({ event }) => ({ event, changes: [] }))
  /** The label of an event as the next plugin sees it: its own label and those of earlier changes. */
  const heardAt = (place: number): Label =>
    joinLabels([
      asked[place]!.context.label,
      ...answered[place]!.changes.map((change) => change.label),
    ])
  for (const plugin of listeners) {
    const places = asked.flatMap(({ name }, place) =>
      !answered[place]!.stopped && isFor(plugin, on, name) ? [place] : [],
    )
    if (places[0] === undefined) continue
    const startedAtMs = deps.clock.nowMs()
    const events = places.map((place) => answered[place]!.event)
    // One call of the hook sees all these events, so each answer and stored value may contain any of them.
    const label = joinLabels(places.map((place) => heardAt(place)))
    const context = toContext({ ...asked[places[0]]!.context, label }, plugin, on)
    const timeoutMs = Math.max(0, endsAtMs - startedAtMs)
    const labels = labelsOfHook(plugin, context)
    const outcomes = await callHook({ plugin, on, events, context, labels, timeoutMs }, deps)
    const said = outcomes.map((outcome) => readHookAnswer(on, outcome))
    for (const [index, place] of places.entries())
      answered[place] = after(answered[place]!, {
        on,
        plugin,
        said: said[index]!,
        label: joinLabels([label, labels.label()]),
        ...asked[place]!,
      })
    asked[places[0]]!.context.emit(
      calledEvent({
        plugin,
        on,
        said,
        calls: places.map((place) => asked[place]!.context.call),
        durationMs: Math.max(0, deps.clock.nowMs() - startedAtMs),
      }),
    )
  }
  return answered
}

/** Events of a hook name its plugin; a hook may not spend the run's lease. */
function toContext(context: ToolContext, { manifest }: LoadedPlugin, hook: HookPoint): ToolContext {
  const { idempotencyKey, emit } = context
  return {
    ...context,
    idempotencyKey: `${idempotencyKey}:${hook}:${manifest.id}`,
    emit: (event) => emit(withData(event, { plugin: manifest.id, hook })),
  }
}

/**
 * Points at which a failed hook counts as a veto. At the others the event has happened already, and hooks are only
 * informed.
 */
const deciding: ReadonlySet<HookPoint> = new Set([
  'beforeDispatch',
  'beforeModelCall',
  'beforeToolCall',
  'afterToolCall',
])

/** @param said.label The label of the answer. */
function after(
  answered: Answered,
  {
    on,
    plugin: { manifest },
    said,
    label,
    changed,
  }: Asked & {
    readonly on: HookPoint
    readonly plugin: LoadedPlugin
    readonly said: HookSaid
    readonly label: Label
  },
): Answered {
  const plugin = manifest.id
  switch (said.verdict) {
    case 'allow':
      return answered
    case 'vetoed':
      return { ...answered, stopped: { plugin, message: said.message, label } }
    case 'failed':
      return deciding.has(on) ? { ...answered, stopped: { plugin } } : answered
    case 'changed': {
      const { change } = said
      const event = changed?.(answered.event, change) ?? answered.event
      return { ...answered, event, changes: [...answered.changes, { plugin, change, label }] }
    }
  }
}

interface Called {
  readonly plugin: LoadedPlugin
  readonly on: HookPoint
  readonly said: readonly HookSaid[]
  readonly calls: readonly string[]
  readonly durationMs: number
}

const gravest = ['failed', 'vetoed', 'changed', 'allow'] as const

/** Names the plugin, the number of events and the gravest verdict; never the contents of an event. */
function calledEvent({ plugin, on, said, calls, durationMs }: Called): EventDraft {
  const { manifest, tier } = plugin
  const { id, version } = manifest
  const verdict = gravest.find((one) => said.some((each) => each.verdict === one)) ?? 'allow'
  const told = said.flatMap(({ verdict: one }, index) =>
    one === 'allow' ? [] : [{ call: calls[index]!, verdict: one }],
  )
  const about = { plugin: id, version, tier, on, matched: said.length, verdict, durationMs }
  return { type: 'hook_called', data: { ...about, ...(told.length > 0 && { calls: told }) } }
}

/** Names the plugin, so that the reader knows whose words these are. The message was capped when it arrived. */
export const vetoText = ({ plugin, message = '' }: NonNullable<Answered['stopped']>): string =>
  `The plugin ${plugin} does not allow it${message === '' ? '.' : `: ${message}`}`
