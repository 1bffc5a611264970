import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import { toolDestroys } from '#features/policy/types.ts'
import type { Json, JsonObject, JsonSchema } from '#contracts/json.ts'
import { joinLabels, saidLabel } from '#contracts/label.ts'
import { addUsage, zeroUsage, type Usage } from '#contracts/lease.ts'
import type { ToolManifest } from '../types/manifest.ts'
import { toldLabelOf } from '../types/plugin-texts.ts'
import type { OutsideAddress } from '#contracts/destination.ts'
import type { ToolContext, ToolEntry, ToolFailure, ToolOwner, ToolResult } from '#contracts/tool.ts'
import { openCapabilities } from '../capabilities/capabilities.ts'
import type { CapabilityDeps } from '../capabilities/capability-deps.ts'
import { defaultTimeoutMs, maxOutputBytes, scheduleTimeoutMs } from '../sandbox/call-limits.ts'
import { grantsOfTool } from '../capabilities/storage/granted-database.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import { spendingOfAgent, spendingOfTool, withIsolateFee } from './inner-reach.ts'
import { goesToOf } from '../capabilities/open-network.ts'
import { jsonSizeBytes, NotJsonError, toJson } from '../sandbox/json-border.ts'
import { withHandoff } from './floor-tool.ts'
import { toOfferTools } from './offer-tools.ts'
import { OutputError } from '../sandbox/output-error.ts'
import { toFailure } from './call-failure.ts'
import { waitingFor } from '#runtime/kernel/types/asks.ts'
import { flowOf, labelsOfCall, opened } from '../capabilities/plugin-flow.ts'
import { createAsking } from '../capabilities/plugin-request.ts'
import type { HostedFunction } from '../sandbox/plugin-parts.ts'

type Work = HostedFunction

/** The registry entries of a plugin's tools, named `<plugin>__<tool>`. */
export function toToolEntries(plugin: LoadedPlugin, deps: CapabilityDeps): readonly ToolEntry[] {
  const entries = plugin.manifest.contributes.tools.flatMap((tool) => {
    const run = plugin.parts.tools?.[tool.name]
    return run ? [withHandoff(toToolEntry(plugin, tool, run, deps), tool)] : []
  })
  const offers = toOfferTools(plugin).map(({ tool, run }) => toToolEntry(plugin, tool, run, deps))
  const { agent, schedule } = plugin.parts
  return [
    ...entries,
    ...offers,
    ...(agent ? [toAgentCodeEntry(plugin, agent.invoke, deps)] : []),
    ...(schedule ? [toScheduleEntry(plugin, schedule.execute, deps)] : []),
  ]
}

function toToolEntry(
  whole: LoadedPlugin,
  tool: ToolManifest,
  run: Work,
  deps: CapabilityDeps,
): ToolEntry {
  const plugin = { ...whole, granted: grantsOfTool(whole.granted, tool) }
  const name = `${plugin.manifest.id}__${tool.name}`
  // Hints count only from a plugin that ships with the deployment.
  const isConfirmed = plugin.tier === 'builtin'
  const timeoutMs = tool.timeout_ms ?? defaultTimeoutMs
  const spending = withIsolateFee(plugin, spendingOfTool(plugin, timeoutMs), deps)
  const goesTo = goesToOf(plugin, tool, deps)
  const { annotations: hints } = tool
  // A tool that calls others or spends is not repeated after a crash, whatever its hints say.
  const mayRepeat = isConfirmed && !spending.inner
  return {
    tool: {
      name,
      description: tool.description,
      inputSchema: tool.input_schema,
      ...defined({ outputSchema: tool.output_schema }),
      execute: (input, context) =>
        callPlugin({ name, plugin, run, deps, hints, goesTo: goesTo?.(input) }, input, context),
    },
    ...flowOf(plugin, hints, { name, declared: tool.sink }),
    ...defined({ goesTo }),
    isReadOnly: mayRepeat && tool.annotations.readOnlyHint === true,
    isIdempotent: mayRepeat && tool.annotations.idempotentHint === true,
    ...(tool.requires_approval && { needsApproval: true }),
    ...(toolDestroys(tool.annotations, plugin.granted) && { isDestructive: true }),
    timeoutMs,
    ...spending,
    definitionHash: `${plugin.hash}:${name}`,
    ...toldLabelOf(plugin, name),
    record: toRecord(plugin),
  }
}

const agentInputSchema: JsonSchema = {
  type: 'object',
  properties: { task: { type: 'string', minLength: 1 }, context: { type: 'string' } },
  required: ['task'],
  additionalProperties: false,
}

/** An agent with code of its own is a tool like the rest: `<plugin>__run` (Y5, Y7). */
function toAgentCodeEntry(
  plugin: LoadedPlugin,
  invoke: AgentInvoke,
  deps: CapabilityDeps,
): ToolEntry {
  const { manifest } = plugin
  const name = `${manifest.id}__run`
  const as = 'agent' as const
  const run: Work = ({ task, context: about }, capabilities, context) =>
    invoke(
      { task: String(task), ...(typeof about === 'string' && { context: about }) },
      capabilities,
      context,
    )
  return {
    tool: {
      name,
      description: [manifest.description, manifest.natural_language_description]
        .filter(Boolean)
        .join('\n'),
      inputSchema: agentInputSchema,
      execute: (input, context) =>
        callPlugin({ name, plugin, run, deps, as, hints: opened }, input, context),
    },
    ...flowOf(plugin, opened, { name }),
    isReadOnly: false,
    isIdempotent: false,
    timeoutMs: manifest.agent?.limits.time_budget_ms ?? defaultTimeoutMs,
    ...withIsolateFee(plugin, manifest.agent ? spendingOfAgent(manifest.agent) : {}, deps),
    definitionHash: `${plugin.hash}:${name}`,
    ...toldLabelOf(plugin, name),
    record: toRecord(plugin),
  }
}

/** The plugin's scheduled work can also be called by hand, like any tool: `<plugin>__execute` (Y10). */
function toScheduleEntry(
  plugin: LoadedPlugin,
  execute: ScheduleExecute,
  deps: CapabilityDeps,
): ToolEntry {
  const { manifest } = plugin
  const name = `${manifest.id}__execute`
  const run: Work = async (_input, capabilities, context) =>
    toNotice(await execute(capabilities, context))
  return {
    tool: {
      name,
      description: `${manifest.description}\nRuns now what is scheduled (${manifest.schedule}).`,
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      execute: (input, context) =>
        callPlugin({ name, plugin, run, deps, hints: opened }, input, context),
    },
    ...flowOf(plugin, opened, { name }),
    isReadOnly: false,
    isIdempotent: false,
    timeoutMs: scheduleTimeoutMs,
    ...withIsolateFee(plugin, {}, deps),
    definitionHash: `${plugin.hash}:${name}`,
    ...toldLabelOf(plugin, name),
    record: toRecord(plugin),
  }
}

type ScheduleExecute = NonNullable<LoadedPlugin['parts']['schedule']>['execute']

/** A text for the schedule's owner, or nothing. */
function toNotice(value: unknown): Json {
  const answer = toJson(value)
  if (answer === null) return {}
  const { text, ...rest } = Object(answer) as JsonObject
  if (typeof text === 'string' && Object.keys(rest).length === 0) return { text }
  throw new OutputError('returned something else than { text } or nothing.')
}

type AgentInvoke = NonNullable<LoadedPlugin['parts']['agent']>['invoke']

function toRecord({ manifest, tier }: LoadedPlugin): ToolOwner {
  return { plugin: manifest.id, version: manifest.version, tier }
}

interface PluginCall {
  readonly name: string
  readonly plugin: LoadedPlugin
  readonly run: Work
  readonly deps: CapabilityDeps
  readonly as?: 'agent'
  readonly hints: ToolManifest['annotations']
  readonly goesTo?: OutsideAddress | undefined
}

/** Runs plugin code with the capabilities of this call; they are dead once it answers, fails or is aborted. */
async function callPlugin(
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
  const isReadOnly = hints.readOnlyHint === true
  try {
    const metered = await deps.meter?.charge(plugin, held)
    if (metered?.ok === false) return { ok: false, error: noMoney }
    // Set before the code runs, so that a failed call pays too.
    if (metered) paid.usage = { ...zeroUsage, costNanoUsd: metered.costNanoUsd }
    const work = Promise.resolve(run(toJson(input) as JsonObject, capabilities, held))
    const output = toOutput(await untilAborted(work, signal))
    // The code may have caught the refusal: its open question decides, not its answer.
    if (asking?.asks()) return { ...waitingFor(asking.asks()!, isReadOnly), ...usage() }
    deps.faults?.wentWell(plugin, context.principal)
    const said = context.answers ? (['user'] as const) : []
    // The output may contain the user's answer, so its label is joined.
    const label = joinLabels([labels.label(), ...(context.answers ? [saidLabel] : [])])
    return { ok: true, output, taint: [...said, `tool:${name}`], label, ...usage() }
  } catch (error) {
    const asks = asking?.asks()
    if (asks && !context.signal.aborted && !watch?.signal?.aborted)
      return { ...waitingFor(asks, isReadOnly), ...usage() }
    deps.faults?.failed(plugin, error, held)
    if (watch?.signal?.aborted) {
      context.emit({
        type: 'capability_refused',
        data: { call: context.call, capability: 'all: it was switched off' },
      })
      return { ok: false, error: revoked, ...usage() }
    }
    return { ok: false, error: toFailure(error, name, signal), label: labels.label(), ...usage() }
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
  try {
    const output = toJson(value)
    if (jsonSizeBytes(output) <= maxOutputBytes) return output
  } catch (error) {
    if (error instanceof NotJsonError)
      throw new OutputError(`returned what is not JSON: ${headOf(error.message, 300)}.`)
    throw error
  }
  throw new OutputError('returned more than 1 MiB of JSON.')
}
