import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import type { Json } from '#contracts/json.ts'
import { joinLabels, labelOfResult, ownLabel, type Label } from '#contracts/label.ts'
import type { HookPoint } from '#runtime/catalog/types/permit.ts'
import type { HookEvent } from '#features/plugins/types/plugin.ts'
import type {
  CallSubject,
  HookSubject,
  HookVerdict,
  ToolHooks,
} from '#runtime/kernel/types/policy.ts'
import type { ToolResult } from '#contracts/tool.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import {
  askPoint,
  type Answered,
  type Asked,
  type HookChange,
  listenersAt,
  vetoText,
  type HooksDeps,
} from './ask-point.ts'
import { createCollector } from './collector.ts'
import { toHookContext } from './hook-context.ts'

/** The hooks around each tool call; a plugin is asked about all calls of a turn at once. */
export function createToolHooks(plugins: readonly LoadedPlugin[], deps: HooksDeps): ToolHooks {
  const before = collectorAt('beforeToolCall', plugins, deps)
  const after = collectorAt('afterToolCall', plugins, deps)
  return {
    async before(subject) {
      const answered = await before?.(subject.signal, toAsked('beforeToolCall', subject))
      return answered ? toVerdict(answered) : { veto: false }
    },
    async after(subject, result) {
      // The hook sees the result, so its answers and stored values get the result's label too.
      const label = joinLabels([subject.label, labelOfResult(result)])
      const asked = toAsked('afterToolCall', { ...subject, label }, resultOf(result))
      const answered = await after?.(subject.signal, asked)
      return answered ? toResult(answered, subject, result, deps) : result
    },
  }
}

/** `undefined` without listeners: then no call waits. */
function collectorAt(on: HookPoint, plugins: readonly LoadedPlugin[], deps: HooksDeps) {
  const listeners = listenersAt(plugins, on)
  if (listeners.length === 0) return undefined
  return createCollector<Asked, Answered>((asked) => askPoint({ on, asked, listeners }, deps))
}

function toAsked(on: HookPoint, subject: HookSubject, result?: Json): Asked {
  const { session, run, agent, principal, tool, input } = subject
  const event = { on, session, run, agent, principal, tool, input } satisfies HookEvent
  return {
    event: result === undefined ? event : { ...event, result },
    name: tool,
    context: toHookContext(subject),
    changed: (told, { input: newInput, result: newResult }: HookChange) => ({
      ...told,
      ...defined({ input: newInput, result: newResult }),
    }),
  }
}

function toVerdict({ stopped, changes, event }: Answered): HookVerdict {
  if (stopped) {
    const failed = 'A check before this call failed, so it was not made.'
    const { label = ownLabel } = stopped
    return stopped.message === undefined
      ? { veto: true, message: failed }
      : { veto: true, message: vetoText(stopped), label }
  }
  if (changes.length === 0) return { veto: false }
  return { veto: false, input: event.input!, label: joinLabels(changes.map(({ label }) => label)) }
}

/** The result of a failed call is its error. */
const resultOf = (result: ToolResult): Json =>
  result.ok ? result.output : { error: { code: result.error.code, message: result.error.message } }

/** Longest changed result if the result was longer than a model gets, because it goes to code or to a client. */
const maxLongChars = 1_000_000

const failedText = 'A check after this call failed, so its result is held back.'

/** The call's spending stays counted even if its result is withheld. */
function toResult(
  { stopped, changes, event }: Answered,
  subject: CallSubject,
  result: ToolResult,
  { maxResultChars }: HooksDeps,
): ToolResult {
  const spent = result.usage && { usage: result.usage }
  const heldBack = (message: string, of: Label = ownLabel): ToolResult => ({
    ok: false,
    error: { code: 'tool_denied', message },
    label: of,
    ...spent,
  })
  if (stopped)
    return stopped.message === undefined
      ? heldBack(failedText)
      : heldBack(vetoText(stopped), joinLabels([stopped.label]))
  if (changes.length === 0) return result
  const output = event.result as Json
  const label = joinLabels([labelOfResult(result), ...changes.map((change) => change.label)])
  const wasLong = JSON.stringify(resultOf(result)).length > maxResultChars
  const maxChars = wasLong ? maxLongChars : maxResultChars
  if (JSON.stringify(output).length > maxChars) return heldBack(failedText)
  if (result.ok) {
    const changers = changes.map(({ plugin }) => `tool:${plugin}` as const)
    const taint = [...(result.taint ?? [`tool:${subject.tool}` as const]), ...changers]
    return {
      ok: true,
      output,
      taint,
      label,
      ...spent,
      ...defined({ shows: result.shows }),
    }
  }
  const message = errorTextOf(output)
  return message === undefined
    ? heldBack(failedText)
    : { ...result, error: { ...result.error, message }, label }
}

/** A hook may change the text of an error, but not its code, and not turn it into a success. */
function errorTextOf(output: Json): string | undefined {
  const { error } = Object(output) as { readonly error?: { readonly message?: unknown } }
  const message = error?.message
  return typeof message === 'string' ? headOf(message, 2_000) : undefined
}
