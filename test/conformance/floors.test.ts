import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { AgentResult } from '#contracts/agent.ts'
import { returnName } from '#contracts/floor.ts'
import { zeroUsage } from '#contracts/lease.ts'
import { parseManifest } from '../../src/runtime/catalog/types/permit.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { createSubAgentEntry } from '../../src/features/agents/sub-agent-tool.ts'
import { createSchemaValidator } from '../../src/runtime/catalog/schema-validator.ts'
import { loadPlugins } from '../../src/features/plugins/loading/in-process-host.ts'
import { toToolEntries } from '../../src/features/plugins/tools/tool-entries.ts'
import { systemSources } from '../../src/compose/sources.ts'
import { toolEntry } from '../fakes/kernel.ts'
import { createCapabilityDeps } from '../fakes/plugins.ts'
import { createFakeGateway, submitAsTo } from '../fakes/session-gateway.ts'
import { describeFloor } from './describe-floor.ts'

const resultOf = (more: Partial<AgentResult>): AgentResult => ({
  id: 'run_child',
  success: true,
  state: 'completed',
  result: '',
  startedAtMs: 0,
  finishedAtMs: 1,
  sessionId: 'child',
  agent: 'desk',
  trace: 't',
  steps: 1,
  actions: [],
  modelCalls: [],
  usage: zeroUsage,
  costEstimateUsd: 0,
  provenance: { template: 'p', version: '1', models: [] },
  ...more,
})

/** An agent's sessions: all that is said to it must come to one of them. */
function deskSessions(): SessionGateway {
  const sessions = createFakeGateway()
  const seen = new Set<string>()
  return {
    ...sessions,
    at: (session) => ({
      ...sessions.at(session),
      async run(_name, { messages, holds }) {
        const [message] = messages
        const said = message?.role === 'user' ? message.text : ''
        if (holds && seen.size > 0 && !seen.has(session)) throw new Error('another session')
        seen.add(session)
        const back = { callId: 'c', tool: returnName, ok: true, durationMs: 0 }
        const value =
          said === 'done'
            ? resultOf({ result: 'bye', actions: [back], output: { summary: 'All done.' } })
            : resultOf({ result: `desk: ${said}` })
        return { ok: true, value }
      },
    }),
  }
}

describeFloor('an agent', {
  create() {
    const sessions = deskSessions()
    const manifest = parseManifest({
      id: 'desk',
      name: 'Desk',
      version: '1.0.0',
      description: 'Helps.',
      agent: { integration_mode: 'handoff', model: 'm', instructions: 'p.md' },
    })
    return createSubAgentEntry({
      manifest,
      agent: manifest.agent!,
      hash: 'abc',
      tier: 'builtin',
      sessions,
      submitAs: submitAsTo(sessions),
      clock: systemSources.clock,
    })
  },
  first: { task: 'help' },
  says: ['desk: help', 'desk: more'],
  last: ['done', 'bye'],
})

describeFloor("a plugin's tool", {
  create() {
    const input_schema = { type: 'object', properties: { message: { type: 'string' } } }
    const tool = { name: 'ask', description: 'Asks.', input_schema, handoff: {} }
    const manifest = {
      id: 'guide',
      name: 'Guide',
      version: '1.0.0',
      description: 'Guides.',
      entrypoint: 'main.ts',
      contributes: { tools: [tool] },
    }
    const register = () => ({
      tools: {
        ask: async ({ message }: { readonly message?: unknown }) =>
          message === 'done'
            ? { say: 'bye', done: true, summary: 'All asked.' }
            : { say: `step ${String(message)}` },
      },
    })
    const { plugins, problems } = loadPlugins([{ manifest, files: {}, hash: 'abc', register }], {
      validator: createSchemaValidator(),
    })
    if (problems.length > 0) throw new Error(JSON.stringify(problems))
    return toToolEntries(plugins[0]!, createCapabilityDeps({ sessions: createFakeGateway() }))[0]!
  },
  first: { message: 'one' },
  says: ['step one', 'step more'],
  last: ['done', 'bye'],
})

/** A person of a team, not a plugin: each message waits until that person answers. */
const colleague = (): ToolEntry =>
  toolEntry('team__colleague', async (_input, { options }) => {
    if (options.directCall?.floor) {
      const error = { code: 'tool_pending', message: 'Waiting for a colleague.' } as const
      return { ok: false, error, pause: { kind: 'question', expires: true } }
    }
    const take = {
      maxMessages: 10,
      maxTokens: 1_000,
      maxCostNanoUsd: 1,
      timeoutMs: 60_000,
      monitor: 'rule',
      input: 'message',
    } as const
    const output = 'A colleague is with you.'
    return { ok: true, output, ...(options.mayHandOff && { floor: { take } }) }
  })

describeFloor('a person', {
  create: colleague,
  first: { message: 'help' },
  says: ['A colleague is with you.', 'I am looking.'],
  last: ['bye', 'Good bye.'],
  isPerson: true,
})

it('X1: nothing in the kernel or the leases knows of it', () => {
  for (const room of ['kernel', 'kernel/leases']) {
    const folder = join(import.meta.dirname, '../../src/runtime', room)
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts')))
      expect(readFileSync(join(folder, file), 'utf8'), file).not.toMatch(
        /\bfloor(?!\()|handoff|\.holds\b|passedOn/i,
      )
  }
})
