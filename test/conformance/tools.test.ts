import registerCaller from '../fixtures/plugins/caller/main.ts'
import register from '../fixtures/plugins/conformance/main.ts'
import registerOffers from '../fixtures/plugins/offers/main.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { AgentResult } from '#contracts/agent.ts'
import { zeroUsage } from '#contracts/lease.ts'
import { parseManifest } from '../../src/runtime/catalog/types/permit.ts'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import type { Plugin } from '#features/plugins/types/plugin.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { createSubAgentEntry } from '../../src/features/agents/sub-agent-tool.ts'
import { createCoreTools } from '../../src/runtime/catalog/core-tools.ts'
import { createOutputStore, createOutputTool } from '../../src/runtime/catalog/output-tool.ts'
import { createSchemaValidator } from '../../src/runtime/catalog/schema-validator.ts'
import { createSearchIndex } from '../../src/runtime/catalog/search/search-index.ts'
import { loadPlugins } from '../../src/features/plugins/loading/in-process-host.ts'
import { toToolEntries } from '../../src/features/plugins/tools/tool-entries.ts'
import { systemSources } from '../../src/compose/sources.ts'
import { connectedTools } from '../fakes/connected.ts'
import { says, toolEntry } from '../fakes/kernel.ts'
import { createCapabilityDeps } from '../fakes/plugins.ts'
import { createFakeGateway, submitAsTo } from '../fakes/session-gateway.ts'
import { describeTool, type ToolSubject } from './describe-tool.ts'
import { promptInputs, resourceInputs } from './offer-inputs.ts'

/** The parts of the host around a tool, over sessions in memory. */
const around = (sessions: SessionGateway) => ({
  outputs: createOutputStore(sessions),
  readOutput: createOutputTool(sessions),
})

/** The same entry, counting how often its work begins. */
function counted(
  entry: ToolEntry,
): Pick<ToolSubject, 'entry' | 'executions' | 'traces' | 'stopped'> {
  const traces: string[] = []
  let stops = 0
  const { tool } = entry
  return {
    entry: {
      ...entry,
      tool: {
        ...tool,
        execute(input, context) {
          traces.push(context.trace)
          context.signal.addEventListener('abort', () => (stops += 1))
          return tool.execute(input, context)
        },
      },
    },
    executions: () => traces.length,
    traces: () => traces,
    stopped: () => stops,
  }
}

const hostTool: ToolEntry['tool'] = {
  name: 'host__act',
  description: 'Does what it is told.',
  inputSchema: {
    type: 'object',
    properties: { how: { enum: ['succeed', 'fail', 'crash', 'hang', 'long'] } },
    required: ['how'],
    additionalProperties: false,
  },
  async execute({ how }, { signal }) {
    switch (how) {
      case 'fail':
        return { ok: false, error: { code: 'tool_failed', message: 'It was told to fail.' } }
      case 'crash':
        throw new TypeError('cannot read /srv/app/secrets/key.ts:12')
      case 'long':
        // Every second character has to be escaped, and once more in the page it comes in.
        return says(`${'"\\\\'.repeat(9_000)}NEEDLE${' ipsum'.repeat(500)}`)
      case 'hang':
        return new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(new Error('stopped'))),
        )
      default:
        return says('done')
    }
  },
}

describeTool("a host's own tool", {
  inputs: {
    succeed: { how: 'succeed' },
    invalid: { how: 1 },
    fail: [{ how: 'fail' }, { how: 'crash' }],
    hang: { how: 'hang' },
    long: { how: 'long' },
  },
  create: () => ({
    ...around(createFakeGateway()),
    ...counted({ ...toolEntry('host__act', hostTool.execute), tool: hostTool }),
  }),
})

describeTool('the built-in isola__find', {
  inputs: { succeed: { queries: ['what is told'] }, invalid: { queries: [] } },
  create: () => {
    const [find] = createCoreTools([toolEntry('host__act', hostTool.execute)], {
      buildIndex: createSearchIndex,
    })
    return { ...around(createFakeGateway()), ...counted(find!) }
  },
})

/** Storage that has one result of `ses_1` under `kept`, none under anything else, and never answers for `hang`. */
function createKeptResult(): SessionGateway {
  const sessions = createFakeGateway()
  const text = JSON.stringify(`NEEDLE${'"\\'.repeat(20_000)}`)
  return {
    ...sessions,
    at: (session) => ({
      ...sessions.at(session),
      storage: async (request) => {
        const key = 'key' in request ? request.key : ''
        if (key === 'ses_1.hang') return new Promise(() => {})
        return key === 'ses_1.kept'
          ? { found: true, value: text }
          : sessions.at(session).storage(request)
      },
    }),
  }
}

describeTool('the built-in isola__read_output', {
  inputs: {
    succeed: { handle: 'ses_1.kept', query: 'needle' },
    invalid: { handle: 7 },
    fail: [{ handle: 'nothing' }],
    hang: { handle: 'ses_1.hang' },
  },
  create: () => {
    const sessions = createKeptResult()
    return { ...around(sessions), ...counted(createOutputTool(sessions)), session: 'ses_1' }
  },
})

/** A fixture's folder as the generator would bundle it. */
function bundleFolder(name: string, register: Plugin): BundledPlugin {
  const folder = join(import.meta.dirname, '../fixtures/plugins', name)
  return {
    manifest: parse(readFileSync(join(folder, 'plugin.yaml'), 'utf8')) as unknown,
    files: {},
    hash: systemSources.sha256(readFileSync(join(folder, 'main.ts'), 'utf8')),
    register,
  }
}

/** The fixture, telling when its code begins and when it is told to stop. */
function bundleFixture(onRun: () => void, onStop: () => void): BundledPlugin {
  return bundleFolder('conformance', (about) => {
    const wrapped = Object.entries(register(about).tools ?? {}).map(([name, run]) => {
      const counted: typeof run = (input, capabilities) => {
        onRun()
        capabilities.signal.addEventListener('abort', onStop)
        return run(input, capabilities)
      }
      return [name, counted] as const
    })
    return { tools: Object.fromEntries(wrapped) }
  })
}

describeTool("a bundled plugin's tool, in process", {
  inputs: {
    succeed: { how: 'succeed' },
    invalid: { how: 'sing' },
    fail: [{ how: 'fail' }, { how: 'crash' }],
    hang: { how: 'hang' },
    long: { how: 'answer-at-length' },
  },
  create: () => {
    let runs = 0
    let stops = 0
    const fixture = bundleFixture(
      () => (runs += 1),
      () => (stops += 1),
    )
    const { plugins, problems } = loadPlugins([fixture], { validator: createSchemaValidator() })
    if (problems.length > 0) throw new Error(JSON.stringify(problems))
    const sessions = createFakeGateway()
    const [entry] = toToolEntries(plugins[0]!, createCapabilityDeps({ sessions }))
    return { ...around(sessions), entry: entry!, executions: () => runs, stopped: () => stops }
  },
})

function offersSubject(tool: string): ToolSubject {
  const bundled = [bundleFolder('offers', registerOffers)]
  const { plugins, problems } = loadPlugins(bundled, { validator: createSchemaValidator() })
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
  const sessions = createFakeGateway()
  const entries = toToolEntries(plugins[0]!, createCapabilityDeps({ sessions }))
  const entry = entries.find(({ tool: { name } }) => name === tool)
  return { ...around(sessions), ...counted(entry!) }
}

describeTool('P14: the resources of a plugin, in process', {
  inputs: resourceInputs,
  create: () => offersSubject('offers__read_resource'),
})

describeTool('P14: the prompts of a plugin, in process', {
  inputs: promptInputs,
  create: () => offersSubject('offers__get_prompt'),
})

/** A tool of the plugin that calls others, with what it calls. */
function callerSubject(tool: string): ToolSubject {
  const sessions = createFakeGateway()
  const bundled = [bundleFolder('conformance', register), bundleFolder('caller', registerCaller)]
  const { plugins, problems } = loadPlugins(bundled, { validator: createSchemaValidator() })
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
  return { ...around(sessions), ...counted(connectedTools(plugins, { sessions })(tool)) }
}

describeTool("a plugin's tool that calls another, in process", {
  inputs: {
    succeed: { how: 'succeed' },
    invalid: { how: 'sing' },
    fail: [{ how: 'fail' }, { how: 'crash' }],
    hang: { how: 'hang' },
    long: { how: 'answer-at-length' },
  },
  create: () => callerSubject('caller__relay'),
})

describeTool('an agent with code of its own, in process', {
  inputs: {
    succeed: { task: 'succeed' },
    invalid: { context: 'no task' },
    fail: [{ task: 'fail' }, { task: 'crash' }],
    hang: { task: 'hang' },
    long: { task: 'answer-at-length' },
  },
  create: () => callerSubject('caller__run'),
})

/** Sessions that work as their task says: what a sub-agent's tool sees of a real one. */
function createChildSessions() {
  const traces: string[] = []
  let stops = 0
  const runs = new Map<string, Promise<ObjectReply<AgentResult>>>()
  const cancels = new Map<string, (reason: string) => void>()
  const usage = {
    ...zeroUsage,
    tokens: 30,
    inputTokens: 20,
    outputTokens: 10,
    turns: 1,
    modelCalls: 1,
  }
  const work = (session: string, task: string): Promise<Partial<AgentResult>> => {
    if (task === 'fail') {
      const error = { code: 'model_unavailable', message: 'The model is down.' }
      return Promise.resolve({ success: false, state: 'failed', result: '', error })
    }
    if (task === 'long')
      return Promise.resolve({ result: `${'lorem '.repeat(6_000)}NEEDLE${' ipsum'.repeat(500)}` })
    if (task !== 'hang') return Promise.resolve({ result: 'done' })
    return new Promise((resolve) =>
      cancels.set(session, (message) =>
        resolve({
          success: false,
          state: 'cancelled',
          result: '',
          error: { code: 'cancelled', message },
        }),
      ),
    )
  }
  const sessions = createFakeGateway()
  const gateway: SessionGateway = {
    ...sessions,
    at: (session) => ({
      ...sessions.at(session),
      run(_name, { messages, trace }) {
        const known = runs.get(session)
        if (known) return known
        traces.push(trace)
        const [message] = messages
        const running = work(session, message?.role === 'user' ? message.text : '').then(
          (outcome): ObjectReply<AgentResult> => ({
            ok: true,
            value: {
              id: 'run_child',
              success: true,
              state: 'completed',
              result: '',
              startedAtMs: 0,
              finishedAtMs: 1,
              sessionId: session,
              agent: 'worker',
              trace,
              steps: 1,
              actions: [],
              modelCalls: [],
              usage,
              costEstimateUsd: 0,
              provenance: { template: 'p', version: '1', models: [] },
              ...outcome,
            },
          }),
        )
        runs.set(session, running)
        return running
      },
      cancelCall: async (_run, _call, reason) => {
        stops += 1
        cancels.get(session)?.(reason)
      },
    }),
  }
  return { gateway, traces, stopped: () => stops }
}

describeTool("a sub-agent's tool, over sessions in memory", {
  inputs: {
    succeed: { task: 'succeed' },
    invalid: { context: 'no task' },
    fail: [{ task: 'fail' }],
    hang: { task: 'hang' },
    long: { task: 'long' },
  },
  create: () => {
    const { gateway, traces, stopped } = createChildSessions()
    const manifest = parseManifest({
      id: 'worker',
      name: 'Worker',
      version: '1.0.0',
      description: 'Does its task.',
      agent: { integration_mode: 'tool', model: 'm', instructions: 'p.md' },
    })
    const entry = createSubAgentEntry({
      manifest,
      agent: manifest.agent!,
      hash: 'abc',
      tier: 'builtin',
      sessions: gateway,
      submitAs: submitAsTo(gateway),
      clock: systemSources.clock,
    })
    return {
      ...around(gateway),
      entry,
      executions: () => traces.length,
      traces: () => traces,
      stopped,
    }
  },
})
