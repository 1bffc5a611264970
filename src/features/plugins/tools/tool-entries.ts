import { defined } from '#contracts/defined.ts'
import { toolDestroys } from '#features/policy/types.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import { type ToolManifest, toldLabelOf } from '../types/manifest.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import type { CapabilityDeps } from '../capabilities/capability-deps.ts'
import { defaultTimeoutMs, scheduleTimeoutMs, OutputError } from '../types/plugin-output.ts'
import { grantsOfTool } from '../capabilities/storage/granted-database.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import {
  spendingOfAgent,
  spendingOfTool,
  withIsolateFee,
  type InnerSpending,
} from './inner-reach.ts'
import { goesToOf } from '../capabilities/open-network.ts'
import { toJson } from '../sandbox/json-border.ts'
import { withHandoff } from './floor-tool.ts'
import { toOfferTools, type OfferTool } from './offer-tools.ts'
import { flowOf, opened } from '../capabilities/plugin-flow.ts'
import type { HostedFunction, HostedParts } from '../sandbox/plugin-parts.ts'
import type { Manifest } from '#contracts/manifest/manifest.ts'
import { callPlugin } from './call-plugin.ts'

/** The registry entries of a plugin's tools, named `<plugin>__<tool>`. */
export function toToolEntries(plugin: LoadedPlugin, deps: CapabilityDeps): readonly ToolEntry[] {
  const { manifest, parts } = plugin
  const toTool = ({ tool, run }: OfferTool): ToolEntry => {
    const own = { ...plugin, granted: grantsOfTool(plugin.granted, tool) }
    const spending = spendingOfTool(own, tool.timeout_ms ?? defaultTimeoutMs)
    return {
      ...toEntry(own, tool, { run, spending, deps }),
      ...(toolDestroys(tool.annotations, own.granted) && { isDestructive: true }),
    }
  }
  const entries = manifest.contributes.tools.flatMap((tool) => {
    const run = parts.tools?.[tool.name]
    return run ? [withHandoff(toTool({ tool, run }), tool)] : []
  })
  const { agent, schedule } = parts
  return [
    ...entries,
    ...toOfferTools(plugin).map(toTool),
    ...(agent ? [toEntry(plugin, agentTool(manifest), agentCode(manifest, agent, deps))] : []),
    ...(schedule
      ? [
          toEntry(plugin, scheduleTool(manifest), {
            run: async (_input, capabilities, context) =>
              toNotice(await schedule.execute(capabilities, context)),
            spending: {},
            deps,
          }),
        ]
      : []),
  ]
}

/** The code behind an entry. */
interface EntryCode {
  readonly run: HostedFunction
  readonly as?: 'agent'
  /** Without the price of the isolate. */
  readonly spending: InnerSpending
  readonly deps: CapabilityDeps
}

function toEntry(
  plugin: LoadedPlugin,
  tool: ToolManifest,
  { deps, spending: own, ...code }: EntryCode,
): ToolEntry {
  const { manifest, tier, hash } = plugin
  const name = `${manifest.id}__${tool.name}`
  const spending = withIsolateFee(plugin, own, deps)
  const goesTo = goesToOf(plugin, tool, deps)
  const { annotations: hints } = tool
  // Hints count only from a plugin that ships with the deployment. A tool that calls others or spends is not repeated
  // after a crash, whatever its hints say.
  const mayRepeat = tier === 'builtin' && !spending.inner
  return {
    tool: {
      name,
      description: tool.description,
      inputSchema: tool.input_schema,
      ...defined({ outputSchema: tool.output_schema }),
      execute: (input, context) =>
        callPlugin({ name, plugin, deps, hints, goesTo: goesTo?.(input), ...code }, input, context),
    },
    ...flowOf(plugin, hints, { name, declared: tool.sink }),
    ...defined({ goesTo }),
    isReadOnly: mayRepeat && hints.readOnlyHint === true,
    isIdempotent: mayRepeat && hints.idempotentHint === true,
    ...(tool.requires_approval && { needsApproval: true }),
    timeoutMs: tool.timeout_ms ?? defaultTimeoutMs,
    ...spending,
    definitionHash: `${hash}:${name}`,
    ...toldLabelOf(plugin, name),
    record: { plugin: manifest.id, version: manifest.version, tier },
  }
}

/** An agent with code of its own is a tool like the rest: `<plugin>__run` (Y5, Y7). */
const agentTool = (manifest: Manifest): ToolManifest => ({
  name: 'run',
  description: [manifest.description, manifest.natural_language_description]
    .filter(Boolean)
    .join('\n'),
  input_schema: {
    type: 'object',
    properties: { task: { type: 'string', minLength: 1 }, context: { type: 'string' } },
    required: ['task'],
    additionalProperties: false,
  },
  annotations: opened,
  timeout_ms: manifest.agent?.limits.time_budget_ms,
})

const agentCode = (
  { agent }: Manifest,
  { invoke }: NonNullable<HostedParts['agent']>,
  deps: CapabilityDeps,
): EntryCode => ({
  run: ({ task, context: about }, capabilities, context) =>
    invoke(
      { task: String(task), ...(typeof about === 'string' && { context: about }) },
      capabilities,
      context,
    ),
  as: 'agent',
  spending: agent ? spendingOfAgent(agent) : {},
  deps,
})

/** The plugin's scheduled work can also be called by hand, like any tool: `<plugin>__execute` (Y10). */
const scheduleTool = ({ description, schedule }: Manifest): ToolManifest => ({
  name: 'execute',
  description: `${description}\nRuns now what is scheduled (${schedule}).`,
  input_schema: { type: 'object', properties: {}, additionalProperties: false },
  annotations: opened,
  timeout_ms: scheduleTimeoutMs,
})

/** A text for the schedule's owner, or nothing. */
function toNotice(value: unknown): Json {
  const answer = toJson(value)
  if (answer === null) return {}
  const { text, ...rest } = Object(answer) as JsonObject
  if (typeof text === 'string' && Object.keys(rest).length === 0) return { text }
  throw new OutputError('returned something else than { text } or nothing.')
}
