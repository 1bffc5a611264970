import { toToolResult } from '#runtime/kernel/types/agent-outcome.ts'
import type { AgentResult } from '#contracts/agent.ts'
import { defaultAgentLimits } from '#contracts/limits.ts'
import type { Json } from '#contracts/json.ts'
import { labelFrom, ownLabel, type Label } from '#contracts/label.ts'
import { zeroUsage } from '#contracts/lease.ts'
import { mcpServerSchema } from '#runtime/catalog/types/mcp.ts'
import type { Message } from '#contracts/message.ts'
import type { ToolEntry, ToolResult } from '#contracts/tool.ts'
import { flowOf } from '../../src/features/mcp-servers/server-entries.ts'
import { toolEntry, toolsetOf } from '../fakes/kernel.ts'

/** A way by which a stranger's text comes before a model. */
export interface Carrier {
  readonly name: string
  /** The tool that brings it, if one does. */
  readonly tool?: (text: string) => ToolEntry
  /** Said before the run began. */
  readonly before?: (text: string) => Message
  /** Told while the run is under way. */
  readonly meanwhile?: (text: string) => Message
}

const carrierTool = 'look'

const read = (
  result: ToolResult,
  more: Partial<Pick<ToolEntry, 'yields' | 'inner'>> = {},
): ToolEntry => toolEntry(carrierTool, async () => result, { sinks: [], ...more })

/** A tool whose results others write: only the form of what it returns differs. */
const written = (name: string, form: (text: string) => Json): Carrier => ({
  name,
  tool: (text) =>
    read({ ok: true, output: form(text) }, { yields: labelFrom(name.replaceAll(' ', '_')) }),
})

const mcp = (name: string, kind: 'tool' | 'resource'): Carrier => ({
  name,
  tool(text) {
    const config = mcpServerSchema.parse({ id: 'one', url: 'https://mcp.example' })
    const item = { kind, key: 'look', definition: {}, hash: '' } as const
    const flow = flowOf({ config, confirmed: [] }, item, `mcp__${kind}`)
    return read({ ok: true, output: text }, flow)
  },
})

const stranger: Label = labelFrom('web')

const childResult: AgentResult = {
  id: 'run_2',
  success: true,
  state: 'completed',
  result: '',
  label: stranger,
  startedAtMs: 0,
  finishedAtMs: 0,
  sessionId: 'ses_2',
  agent: 'reader',
  trace: 't'.repeat(32),
  steps: 1,
  actions: [],
  modelCalls: [],
  usage: zeroUsage,
  costEstimateUsd: 0,
  provenance: { template: 'reader', version: '1', models: [] },
}

/** Its code asks another tool, and returns what that said as its own words. */
const byOtherTool: Carrier = {
  name: 'another tool inside',
  tool: (text) => ({
    ...toolEntry(carrierTool, async (_input, { inner }) => inner!.callTool('inside', {}), {
      sinks: [],
      yields: ownLabel,
    }),
    spends: defaultAgentLimits,
    inner: {
      resolve: toolsetOf([
        toolEntry('inside', async () => ({ ok: true, output: text }), {
          sinks: [],
          yields: stranger,
        }),
      ]).resolve,
      children: 0,
    },
  }),
}

/** 24 of them. */
export const carriers: readonly Carrier[] = [
  written('web page', (text) => text),
  written('search result', (text) => [{ title: 'Bern', snippet: text, url: 'https://a.example' }]),
  written('shared file', (text) => ({ name: 'plan.md', content: text })),
  written('mail', (text) => ({ from: 'a@b.example', subject: 'Hi', body: text })),
  written('sender of a mail', (text) => ({ from: `${text} <a@b.example>`, body: 'Hi' })),
  written('calendar invitation', (text) => [{ title: 'Swim', description: text }]),
  written('chat message', (text) => [{ sender: 'Bo', body: text }]),
  written('comment on an issue', (text) => ({ issue: 7, comments: [{ body: text }] })),
  written('comment in code', (text) => `export const a = 1 // ${text}\n`),
  written('commit message', (text) => `commit 1a2b\n    ${text}`),
  written('alt text of an image', (text) => `<img src="a.png" alt="${text}">`),
  written('text of a PDF', (text) => ({ pages: ['Report', text] })),
  written('cell of a table', (text) => [
    ['name', 'note'],
    ['Ana', text],
  ]),
  written('key of an object', (text) => ({ [text]: 1 })),
  written('subject of a payment', (text) => [{ amount: 1, subject: text }]),
  mcp('result of an MCP tool', 'tool'),
  mcp('resource of an MCP server', 'resource'),
  {
    name: 'error of a tool',
    tool: (text) =>
      read({ ok: false, error: { code: 'tool_failed', message: text } }, { yields: stranger }),
  },
  {
    name: 'result of a sub-agent',
    tool: (text) => read(toToolResult({ ...childResult, result: text }), { yields: ownLabel }),
  },
  {
    name: 'memory',
    tool: (text) => read({ ok: true, output: text, label: stranger }, { yields: ownLabel }),
  },
  byOtherTool,
  {
    name: 'tool that nobody labelled',
    tool: (text) => toolEntry(carrierTool, async () => ({ ok: true, output: text })),
  },
  {
    name: 'agent in the background',
    meanwhile: (text) => ({
      role: 'user',
      text: `The agent reader answers: ${text}`,
      taint: ['tool:reader__run'],
      label: stranger,
    }),
  },
  {
    name: 'earlier answer',
    before: (text) => ({ role: 'assistant', text, taint: ['model'], label: stranger }),
  },
]
