import { withData, type EventDraft } from '#contracts/event.ts'
import { joinLabels, type Label } from '#contracts/label.ts'
import type { HookPoint } from '#runtime/catalog/types/manifest.ts'
import type { HookEvent } from '#contracts/plugin.ts'
import type { ToolContext } from '#contracts/tool.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { labelsOfHook } from '../capabilities/plugin-flow.ts'
import { callHook, type CallHookDeps } from './call-hook.ts'
import { readHookAnswer, type HookChange, type HookSaid } from './hook-answer.ts'
import { isFor } from './listeners.ts'

/** One thing that happens, or is about to. */
export interface Asked {
  readonly event: HookEvent
  /** What `match` is compared with. */
  readonly name: string
  /** Of the call the event belongs to: whose events, on whose behalf, until when. */
  readonly context: ToolContext
  /** The event after a change, for the next plugin. */
  readonly changed: (event: HookEvent, change: HookChange) => HookEvent
}

/** What all plugins together made of it. */
export interface Answered {
  readonly event: HookEvent
  /** Those that changed it, in order. */
  readonly changes: readonly {
    readonly plugin: string
    readonly change: HookChange
    readonly label: Label
  }[]
  /** Who said no, or could not say; after that nobody else is asked. */
  readonly stopped?: { readonly plugin: string; readonly message?: string; readonly label?: Label }
}

/** What asking the plugins at one point takes, and for how long. */
export interface AskPointDeps extends CallHookDeps {
  /** For all plugins together. */
  readonly hookTimeoutMs: number
}

interface Question {
  readonly on: HookPoint
  readonly asked: readonly Asked[]
  readonly listeners: readonly LoadedPlugin[]
}

/**
 * Takes the events of one moment through the plugins that listen, one call for each plugin, each seeing what the one
 * before made of them. Contract: never throws.
 */
export async function askPoint(
  { on, asked, listeners }: Question,
  deps: AskPointDeps,
): Promise<readonly Answered[]> {
  const endsAtMs = deps.clock.nowMs() + deps.hookTimeoutMs
  const answered: Answered[] = asked.map(({ event }) => ({ event, changes: [] }))
  /** Of what is told there: what was asked about, and what those before made of it. */
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
    // One call hears of all of them: what it keeps can be of any, and so can each of its answers.
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

/** Logs of a hook say whose they are; a hook has no share of what the run may spend. */
function toContext(context: ToolContext, { manifest }: LoadedPlugin, hook: HookPoint): ToolContext {
  const { idempotencyKey, emit } = context
  return {
    ...context,
    idempotencyKey: `${idempotencyKey}:${hook}:${manifest.id}`,
    emit: (event) => emit(withData(event, { plugin: manifest.id, hook })),
  }
}

/** Where a failed hook means no. At the others something has happened already, and it is only told. */
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
  /** Of what it said. */
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

/** Who was asked about how much, and the gravest of what was said; never what it was about. */
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
