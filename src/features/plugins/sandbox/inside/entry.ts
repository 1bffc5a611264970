import { withFetch } from './prelude.ts'
import { WorkerEntrypoint } from 'cloudflare:workers'
import { runHookBatch } from '../hook-batch.ts'
import { NotJsonError, toJson } from '../json-border.ts'
import type { Capabilities, HookEvent, PluginParts } from '#features/plugins/types/plugin.ts'
import { openCapabilities, toGlobalFetch, type CallStubs } from './capabilities.ts'
import { describeParts, loadedParts, LoadFault, loadParts, type About } from './load.ts'

/** The longest time that a tool may declare. */
const maxCallMs = 600_000

/** The members of a plugin whose functions are called by name, by the word for one of them. */
const members = {
  tool: 'tools',
  provider: 'providers',
  resource: 'resources',
  prompt: 'prompts',
} as const

type Work =
  | { readonly do: keyof typeof members; readonly name: string; readonly input: never }
  | { readonly do: 'agent'; readonly request: { readonly task: string; readonly context?: string } }
  | { readonly do: 'hook'; readonly on: string; readonly events: readonly HookEvent[] }
  | { readonly do: 'schedule' }

interface Job {
  readonly about: About
  readonly work: Work | { readonly do: 'inspect' }
  readonly idempotencyKey: string
  /** The nonce of this call's secret placeholders. */
  readonly nonce: string
  readonly maxChars: number
}

/**
 * The method that the Runner calls in an isolate: JSON text in and out, never throws. Nothing in here is a boundary,
 * since the plugin's code shares this realm: the host checks every answer.
 */
export default class Isolate extends WorkerEntrypoint {
  async run(
    text: string,
    port: CallStubs['port'],
    fetcher: CallStubs['fetcher'],
    closed: CallStubs['closed'],
  ): Promise<string> {
    const job = JSON.parse(text) as Job
    try {
      const answer = JSON.stringify({
        value: await work(job, { port, fetcher, closed }),
      })
      if (answer.length <= job.maxChars) return answer
      return failure('too_large', '')
    } catch (error) {
      return toFailure(error)
    }
  }
}

async function work(job: Job, stubs: CallStubs): Promise<unknown> {
  const parts = loadedParts() ?? (await loadParts(job.about))
  if (job.work.do === 'inspect') return toJson(describeParts(parts))
  const { capabilities, settle } = openCapabilities(stubs, job)
  // The runtime ends a request that waits for nothing it knows as "hung"; only the session may decide that.
  const awake = setTimeout(() => {}, maxCallMs)
  try {
    const run = toRun(parts, job.work)
    return toJson(
      await withFetch(
        () => toGlobalFetch(capabilities.fetch),
        () => run(capabilities),
      ),
    )
  } finally {
    clearTimeout(awake)
    const settling = settle()
    if (settling) await settling
  }
}

function toRun(parts: PluginParts, wanted: Work): (can: Capabilities) => unknown {
  switch (wanted.do) {
    case 'hook': {
      const hook = ownFunction(parts.hooks, 'hooks', wanted.on)
      return (can) => runHookBatch(hook, wanted.events, can)
    }
    case 'agent': {
      const { agent } = parts
      if (typeof agent?.invoke !== 'function') throw missing('agent.invoke')
      return (can) => agent.invoke(wanted.request, can)
    }
    case 'schedule': {
      const { schedule } = parts
      if (typeof schedule?.execute !== 'function') throw missing('schedule.execute')
      return (can) => schedule.execute(can)
    }
    default: {
      const member = members[wanted.do]
      const run = ownFunction<NamedFunction>(parts[member], member, wanted.name)
      return (can) => run(wanted.input, can)
    }
  }
}

type NamedFunction = (input: never, can: Capabilities) => Promise<unknown>

function ownFunction<T>(
  functions: Readonly<Record<string, T>> = {},
  member: string,
  name: string,
): T {
  const found = Object.hasOwn(functions, name) ? functions[name] : undefined
  if (typeof found !== 'function') throw missing(`${member}.${name}`)
  return found
}

const missing = (what: string) =>
  new LoadFault('plugin_contract_mismatch', `register() returned no function ${what}`)

/** Only a ToolError's message and `transient` leave the isolate; any other error may contain secrets. */
function toFailure(error: unknown): string {
  if (error instanceof LoadFault) return failure(error.code, error.message)
  if (error instanceof NotJsonError) return failure('not_json', error.message)
  const { code, message, transient } = Object(error) as Record<string, unknown>
  if (code !== 'tool_failed' || typeof message !== 'string') return failure('crashed', '')
  return failure('tool_failed', message, transient === true)
}

const failure = (code: string, message: string, transient = false): string =>
  JSON.stringify({ error: { code, message: message.slice(0, 2_000), transient } })
