import { askName } from '#runtime/kernel/types/asks.ts'
import { returnName } from '#contracts/floor.ts'
import type { JsonSchema } from '#contracts/json.ts'
import { ownLabel } from '#contracts/label.ts'
import type { ToolDefinition } from '#contracts/model.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { ToolEntry, Toolset, PauseKind } from '#contracts/tool.ts'
import { corePrefix } from './core-tools.ts'
import { toToolset } from './toolset.ts'

/**
 * The toolset of a run whose client has tools of its own, or answers questions (`isola__ask`). Each call of such a tool
 * parks the run. If two tools have one name, ours wins.
 */
export function withOutsideTools(
  toolset: Toolset,
  { clientTools = [], mayAsk = false, holds }: RunOptions,
): Toolset {
  const entries = [
    ...(holds ? [returnEntry] : []),
    ...(mayAsk ? [outsideEntry(askDefinition, 'question')] : []),
    ...clientTools
      .filter(({ name }) => !name.startsWith(corePrefix))
      .map((tool) => outsideEntry(tool, 'client_tool')),
  ].filter(({ tool }) => !toolset.resolve(tool.name, {}))
  if (entries.length === 0) return toolset
  const outside = toToolset(entries)
  return {
    ...toolset,
    definitions: [...toolset.definitions, ...outside.definitions],
    resolve: (name, input) => outside.resolve(name, input) ?? toolset.resolve(name, input),
  }
}

const askSchema: JsonSchema = {
  type: 'object',
  properties: {
    question: {
      type: 'string',
      minLength: 1,
      description: 'One question, with all that is needed to answer it.',
    },
  },
  required: ['question'],
  additionalProperties: false,
}

const askDefinition: ToolDefinition = {
  name: askName,
  description:
    'Ask the person you work for, where only they can know or decide. They may take days to answer.',
  inputSchema: askSchema,
}

const returnDefinition: ToolDefinition = {
  name: returnName,
  description: 'Give the conversation back to whoever handed it to you. It ends your work.',
  inputSchema: {
    type: 'object',
    properties: {
      summary: {
        type: 'string',
        minLength: 1,
        maxLength: 4_000,
        description: 'What was done and what is left, for whoever goes on with the user.',
      },
    },
    required: ['summary'],
    additionalProperties: false,
  },
}

const returnEntry: ToolEntry = {
  tool: {
    ...returnDefinition,
    execute: async ({ summary }) => ({
      ok: true,
      output: 'The conversation is given back.',
      floor: { return: { summary: String(summary) } },
    }),
  },
  isReadOnly: true,
  isIdempotent: true,
  sinks: [],
  yields: ownLabel,
  timeoutMs: 10_000,
  definitionHash: `core:${returnName}`,
  record: { plugin: 'isola', tier: 'builtin' },
}

/** Nothing happens here: the outcome comes from outside. So a call that was cut may be made again. */
function outsideEntry(definition: ToolDefinition, kind: PauseKind): ToolEntry {
  return {
    tool: {
      ...definition,
      execute: async () => ({
        ok: false,
        error: { code: 'tool_pending', message: 'Waiting for someone outside.' },
        pause: { kind, expires: true },
      }),
    },
    isReadOnly: true,
    isIdempotent: true,
    // The client itself decides whether its tool needs an approval.
    sinks: [],
    yields: ownLabel,
    timeoutMs: 10_000,
    definitionHash: `outside:${JSON.stringify(definition)}`,
    record: { plugin: 'client' },
  }
}
