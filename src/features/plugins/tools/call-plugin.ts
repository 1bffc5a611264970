import { headOf } from '#contracts/cut.ts'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import { joinLabels, saidLabel } from '#contracts/label.ts'
import { addUsage, zeroUsage, type Usage } from '#contracts/lease.ts'
import type { OutsideAddress } from '#contracts/destination.ts'
import type { ToolContext, ToolFailure, ToolResult } from '#contracts/tool.ts'
import { waitingFor } from '#runtime/kernel/types/asks.ts'
import type { ToolManifest } from '../types/manifest.ts'
import { InputError, maxOutputBytes, OutputError } from '../types/plugin-output.ts'
import { openCapabilities } from '../capabilities/capabilities.ts'
import type { CapabilityDeps } from '../capabilities/capability-deps.ts'
import { labelsOfCall } from '../capabilities/plugin-flow.ts'
import { createAsking } from '../capabilities/plugin-request.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { jsonSizeBytes, toJson } from '../sandbox/json-border.ts'
import type { HostedFunction } from '../sandbox/plugin-parts.ts'
import { toPlain } from './offer-output.ts'

interface PluginCall {
  readonly name: string
  readonly plugin: LoadedPlugin
  readonly run: HostedFunction
  readonly deps: CapabilityDeps
  readonly as?: 'agent'
  readonly hints: ToolManifest['annotations']
  readonly goesTo?: OutsideAddress | undefined
}

/** Runs plugin code with the capabilities of this call; they are dead once it answers, fails or is aborted. */
export async function callPlugin(
  { name, plugin, run, deps, as, hints, goesTo }: PluginCall,
  input: JsonObject,
  context: ToolContext,
): Promise<ToolResult> {
  const off = deps.faults?.offFor(plugin, context.principal)
  if (off) return { ok: false, error: off }
  const watch = await deps.watchRevocation?.(plugin).catch(() => undefined)
  if (deps.watchRevocation && !watch) return { ok: false, error: revoked }
  const asking = createAsking(plugin.granted)
  const ends = [watch?.signal, asking?.signal].filter((one) => one !== undefined)
  const signal = ends.length > 0 ? AbortSignal.any([context.signal, ...ends]) : context.signal
  const held = { ...context, signal }
  const labels = labelsOfCall(plugin, hints, { tool: name, input, goesTo, context })
  const opening = {
    as,
    tool: name,
    goesTo,
    labels,
    check: watch?.check,
    ...(asking && { onAsk: asking.onAsk }),
  }
  const { capabilities, close, spent } = openCapabilities(plugin, held, deps, opening)
  const paid: { usage?: Usage } = {}
  const usage = () => usageOf(paid.usage, spent())
  const waiting = (): ToolResult | undefined => {
    const asks = asking?.asks()
    return asks && { ...waitingFor(asks, hints.readOnlyHint === true), ...usage() }
  }
  const toFailed = (error: unknown): ToolResult => {
    const isOver = watch?.signal?.aborted === true
    const unanswered = !context.signal.aborted && !isOver && waiting()
    if (unanswered) return unanswered
    deps.faults?.failed(plugin, error, held)
    if (!isOver)
      return { ok: false, error: toFailure(error, name, signal), label: labels.label(), ...usage() }
    const capability = 'all: it was switched off'
    context.emit({ type: 'capability_refused', data: { call: context.call, capability } })
    return { ok: false, error: revoked, ...usage() }
  }
  try {
    const metered = await deps.meter?.charge(plugin, held)
    if (metered?.ok === false) return { ok: false, error: noMoney }
    // Set before the code runs, so that a failed call pays too.
    if (metered) paid.usage = { ...zeroUsage, costNanoUsd: metered.costNanoUsd }
    const work = Promise.resolve(run(toJson(input) as JsonObject, capabilities, held))
    const output = toOutput(await untilAborted(work, signal))
    // The code may have caught the refusal: its open question decides, not its answer.
    const unanswered = waiting()
    if (unanswered) return unanswered
    deps.faults?.wentWell(plugin, context.principal)
    const said = context.answers ? (['user'] as const) : []
    // The output may contain the user's answer, so its label is joined.
    const label = joinLabels([labels.label(), ...(context.answers ? [saidLabel] : [])])
    return { ok: true, output, taint: [...said, `tool:${name}`], label, ...usage() }
  } catch (error) {
    return toFailed(error)
  } finally {
    watch?.end()
    close()
  }
}

const usageOf = (a: Usage | undefined, b: Usage | undefined) =>
  a || b ? { usage: addUsage(a ?? zeroUsage, b ?? zeroUsage) } : {}

const revoked: ToolFailure = {
  code: 'tool_denied',
  message: 'This plugin was switched off, or what it was allowed was taken back.',
}

const noMoney: ToolFailure = {
  code: 'lease_cost',
  message: 'The budget does not allow this call: it would begin a new isolate.',
}

/** Plugin code that ignores the signal must not hold up the call. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = () =>
      reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

function toOutput(value: unknown): Json {
  const output = toPlain(value)
  if (jsonSizeBytes(output) <= maxOutputBytes) return output
  throw new OutputError('returned more than 1 MiB of JSON.')
}

const maxMessageChars = 2_000

/**
 * Only a `ToolError`'s message and `transient` leave the call; any other error stays inside, since it may hold
 * secrets.
 */
function toFailure(error: unknown, name: string, signal: AbortSignal): ToolFailure {
  if (signal.aborted) return toAbortFailure(signal.reason, name)
  if (error instanceof OutputError)
    return { code: 'tool_failed', message: `The tool ${name} ${error.message}` }
  if (error instanceof InputError) return { code: 'tool_invalid_input', message: error.message }
  if (errorCode(error) !== 'tool_failed')
    return { code: 'tool_failed', message: `The tool ${name} failed.` }
  const transient = (error as { readonly transient?: unknown }).transient === true
  const message = headOf(errorMessage(error), maxMessageChars)
  return { code: 'tool_failed', message, ...(transient && { transient }) }
}

/** The pipeline's abort reason has a code; without one the call was cancelled. */
function toAbortFailure(reason: unknown, name: string): ToolFailure {
  const code = errorCode(reason)
  if (code === 'tool_timeout')
    return { code, message: `The tool ${name} took too long and was stopped.` }
  return { code: 'tool_cancelled', message: `The tool ${name} was cancelled.` }
}
