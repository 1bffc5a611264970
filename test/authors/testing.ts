import { bundle, hash, host } from 'under-test:plugin'
export { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from 'vitest'
import register from 'under-test:code'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import type { HookAnswer, HookEvent } from '#features/plugins/types/plugin.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { AskAnswers, ToolEntry, ToolResult } from '#contracts/tool.ts'
import { createSchemaValidator } from '../../src/runtime/catalog/schema-validator.ts'
import { openCapabilities } from '../../src/features/plugins/capabilities/capabilities.ts'
import type { CapabilityDeps } from '../../src/features/plugins/capabilities/capability-deps.ts'
import type { HookOutcome } from '../../src/features/plugins/sandbox/hook-batch.ts'
import {
  loadPlugins,
  type LoadedPlugin,
} from '../../src/features/plugins/loading/in-process-host.ts'
import { toToolEntries } from '../../src/features/plugins/tools/tool-entries.ts'
import { describeTool } from '../conformance/describe-tool.ts'
import { countedSubject } from '../conformance/tool-subject.ts'
import { isolates } from './isolates.ts'
import { createCapabilityDeps } from '../fakes/plugins.ts'
import { noNetwork, outboundOver } from '../fakes/outbound.ts'
import { createFakeGateway } from '../fakes/session-gateway.ts'
import { createToolContext } from '../fakes/tool-context.ts'
import type { CallOptions, Conformance } from './isola-testing.d.ts'

/** The plugin as the host of this run has it. Throws what is wrong with it. */
export function loadUnderTest(): LoadedPlugin {
  const { manifest, code = '', files } = bundle
  const own =
    host === 'isolate'
      ? { isolated: { code, tier: 'community', grantEpoch: 0 } as const }
      : register && { register }
  const bundled: BundledPlugin = {
    manifest: { ...Object(manifest), depends_on: [] },
    files,
    hash,
    ...own,
  }
  const { plugins, problems } = loadPlugins([bundled], {
    validator: createSchemaValidator(),
    isolates,
  })
  const [loaded] = plugins
  if (loaded) return loaded
  throw new Error(
    problems.map(({ code: fault, message }) => `${fault}: ${message}`).join('\n') ||
      'plugin.yaml says enabled: false',
  )
}

const validator = createSchemaValidator()

/** One store for all calls of a file. */
const sessions = createFakeGateway()

const depsOf = ({ fetch }: CallOptions): CapabilityDeps =>
  createCapabilityDeps({
    sessions,
    validator,
    // As under `npm start`: a grant of localhost:3000 holds there, and so it does in a test.
    ...outboundOver(fetch ? async (url, init) => fetch(url, init) : noNetwork, {
      sleep: () => new Promise(() => {}),
      isDevelopment: true,
    }),
  })

function entryOf(tool: string, options: CallOptions): ToolEntry {
  const entries = toToolEntries(loadUnderTest(), depsOf(options))
  const entry = entries.find((one) => one.tool.name.endsWith(`__${tool}`))
  if (entry) return entry
  throw new Error(
    `There is no tool ${tool}; there are: ${entries.map((one) => one.tool.name).join(', ')}`,
  )
}

async function call(tool: string, input: JsonObject, options: CallOptions = {}) {
  const entry = entryOf(tool, options)
  const verdict = validator.validate(entry.tool.inputSchema, input)
  if (!verdict.ok) throw new Error(`input${verdict.path}: ${verdict.message}`)
  const result = await answered(entry, input, options)
  if (result.ok) return result.output
  throw Object.assign(new Error(result.error.message), result.error)
}

const maxRounds = 32

/** What it asks is answered as the test says, and it runs again, as in a run. */
async function answered(
  { tool }: ToolEntry,
  input: JsonObject,
  { answers: given = {} }: CallOptions,
): Promise<ToolResult> {
  let answers: AskAnswers | undefined
  for (let round = 0; round < maxRounds; round += 1) {
    const result = await tool.execute(input, createToolContext({ answers }))
    const asks = result.ok ? undefined : result.pause?.asks
    if (!asks) return result
    const more = Object.entries(asks).map(([key, asked]) => {
      const answer = given[key] as Json | undefined
      if (answer !== undefined) return [key, { asked, answer }] as const
      throw new Error(`It asks "${key}": ${JSON.stringify(asked)}. Answer it in \`answers\`.`)
    })
    answers = { ...answers, ...Object.fromEntries(more) }
  }
  throw new Error(`It asked more than ${maxRounds} times.`)
}

async function hook(
  on: string,
  event: Partial<Omit<HookEvent, 'on'>>,
  options: CallOptions = {},
): Promise<HookAnswer> {
  const loaded = loadUnderTest()
  const { hooks = {} } = loaded.parts as {
    hooks?: Record<string, (events: unknown, can: unknown, context: unknown) => Promise<unknown>>
  }
  const run = hooks[on]
  if (!run) throw new Error(`There is no hook ${on}; there are: ${Object.keys(hooks).join(', ')}`)
  const context = createToolContext()
  const { capabilities, close } = openCapabilities(loaded, context, depsOf(options))
  const { session, run: runId, agent, principal } = context
  const whole = { on, session, run: runId, agent, principal, ...event }
  try {
    // One outcome for each event of the batch.
    const [outcome] = (await run([whole], capabilities, context)) as readonly HookOutcome[]
    if (outcome && 'answer' in outcome) return outcome.answer as HookAnswer
    throw new Error(`The hook ${on} failed.`)
  } finally {
    close()
  }
}

function conforms(tool: string, inputs: Conformance, options: CallOptions = {}): void {
  describeTool(`${tool}, ${host}`, {
    inputs: inputs as Parameters<typeof describeTool>[1]['inputs'],
    create: () => countedSubject(entryOf(tool, options), sessions),
  })
}

/** See isola-testing.d.ts, which is what an author sees. */
export const plugin = {
  call,
  invoke: (request: { readonly task: string; readonly context?: string }, options?: CallOptions) =>
    call('run', request, options),
  hook,
  conforms,
}
