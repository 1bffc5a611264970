import { withData, type EventDraft } from '#contracts/event.ts'
import { joinLabels, type Label } from '#contracts/label.ts'
import type { HookPoint } from '#runtime/catalog/types/permit.ts'
import type { HookEvent } from '#contracts/plugin.ts'
import type { ToolContext } from '#contracts/tool.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { labelsOfHook } from '../capabilities/plugin-flow.ts'
import { callHook, type CallHookDeps } from './call-hook.ts'
import { readHookAnswer, type HookChange, type HookSaid } from './hook-answer.ts'
import { isFor } from './listeners.ts'

/** One event of a hook point, before or after it happens. */
export interface Asked {
  readonly event: HookEvent
  /** Compared with the manifest's `match`. */
  readonly name: string
  /** The context of the call that the event belongs to: session, principal, signal. */
  readonly context: ToolContext
  /** The event after a plugin's change, for the next plugin. */
  readonly changed: (event: HookEvent, change: HookChange) => HookEvent
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

/** Dependencies and the time limit of a hook point. */
export interface AskPointDeps extends CallHookDeps {
  /** Limit for all plugins together. Milliseconds. */
  readonly hookTimeoutMs: number
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
  deps: AskPointDeps,
): Promise<readonly Answered[]> {
  const endsAtMs = deps.clock.nowMs() + deps.hookTimeoutMs
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

interface Said extends Pick<Asked, 'changed'> {
  readonly on: HookPoint
  readonly plugin: LoadedPlugin
  readonly said: HookSaid
  /** The label of the answer. */
  readonly label: Label
}

function after(
  answered: Answered,
  { on, plugin: { manifest }, said, label, changed }: Said,
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
      const event = changed(answered.event, change)
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
