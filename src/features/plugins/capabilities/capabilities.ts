import type { Capabilities, PluginRequest } from '#features/plugins/types/plugin.ts'
import { headOf } from '#contracts/cut.ts'
import type { EventDraft } from '#contracts/event.ts'
import type { ToolContext } from '#contracts/tool.ts'
import type { OutsideAddress } from '#contracts/destination.ts'
import { keeperOf } from '../types/plugin-service.ts'
import type { SharedPart } from '#contracts/manifest/agent-manifest.ts'
import { createPluginModel } from './ask-model.ts'
import { createEmit } from './emit-event.ts'
import { createPluginTools } from './call-tools.ts'
import type { CapabilityDeps, CallParts } from './capability-deps.ts'
import {
  createDatabase,
  createIsolate,
  createMemory,
  createPluginFetch,
  createPluginStorage,
  createWorkspace,
  termsOf,
  createRefuse,
  reaching,
} from './granted-parts.ts'
import { withSafeErrors, type AskStorage } from './storage/granted-storage.ts'
import { createLongTermPart } from './long-term-memory.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import type { CallLabels } from './plugin-flow.ts'
import { createPluginRequest, type OnAsk } from './plugin-request.ts'
import { createCallSecrets } from '../secrets/call-secrets.ts'
import { createPluginSecrets } from '../secrets/secret-capability.ts'
import type { LogLevel } from '../types/plugin.ts'
import { defined } from '#contracts/defined.ts'
import { failed } from '../types/plugin-output.ts'
import type { GrantedIsolate } from './granted-isolate.ts'

const logLevels: readonly LogLevel[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]

/** The level that a value names (syslog's, as in the Model Context Protocol); `undefined` for any other value. */
const levelOf = (value: unknown): LogLevel | undefined => logLevels.find((level) => level === value)

type CallEnd = ReturnType<typeof createCallEnd>

/** The end of one call. An AbortController is made only for a listener: it costs more than most calls do. */
function createCallEnd() {
  const state: { isOver: boolean; controller?: AbortController } = { isOver: false }
  const isOver = (): boolean => state.isOver
  const reason = () => failed('This call is over.')
  return {
    isOver,
    throwIfAborted() {
      if (isOver()) throw reason()
    },
    signal() {
      if (!state.controller) {
        state.controller = new AbortController()
        if (isOver()) state.controller.abort(reason())
      }
      return state.controller.signal
    },
    end: (): void => {
      state.isOver = true
      state.controller?.abort(reason())
    },
  }
}

const maxLogChars = 2_000
const maxLogsPerCall = 200

/**
 * Emits a plugin's log lines of a call: the first 200 lines, of at most 2,000 characters each, until the call is
 * over.
 */
function createLog(context: ToolContext, over: CallEnd) {
  let count = 0
  return (message: string, toDraft: (said: Said) => EventDraft): void => {
    count += 1
    if (over.isOver() || count > maxLogsPerCall) return
    const shown = headOf(String(message), maxLogChars).toWellFormed()
    context.emit(toDraft({ call: context.call, message: shown }))
  }
}

interface Said {
  readonly call: string
  readonly message: string
}

/** A call's progress as numbers; `{}` without valid numbers. */
function toNumbers(at: unknown) {
  const { progress, total } = Object(at) as { progress?: unknown; total?: unknown }
  if (typeof progress !== 'number' || !Number.isFinite(progress)) return {}
  const isTotal = typeof total === 'number' && Number.isFinite(total)
  return { progress, ...(isTotal && { total }) }
}

/** Wraps a function so that it works, and answers, only until the call is over. */
type Guard = <A extends unknown[], R>(run: (...args: A) => Promise<R>) => (...args: A) => Promise<R>

/**
 * A plugin may keep a function beyond its call: it must neither work nor answer then.
 *
 * @param check Throws if a grant may not be used now.
 */
function createGuard(over: CallEnd, check?: () => Promise<void>): Guard {
  return (run) =>
    async (...args) => {
      over.throwIfAborted()
      await check?.()
      const answer = await run(...args)
      over.throwIfAborted()
      return answer
    }
}

/** Guards all functions of an object. */
function guardAll<T extends object>(guard: Guard, functions: T): T {
  const guarded = Object.entries(functions).map(([name, run]) => [name, guard(run as never)])
  return Object.fromEntries(guarded) as T
}

/** Options of one call besides its context. */
interface OpenOptions {
  readonly as?: 'tool' | 'agent' | undefined
  /** The called tool; absent in a hook. */
  readonly tool?: string | undefined
  /** The call's destination by its input. */
  readonly goesTo?: OutsideAddress | undefined
  /** Called before each use of a grant; throws if the grant may not be used now. */
  readonly check?: (() => Promise<void>) | undefined
  /** Ends the call until answers arrive; absent if the call cannot wait. */
  readonly onAsk?: OnAsk
  /** Labels of the values that the call's storage reads and writes. Absent if no result returns to a context. */
  readonly labels?: CallLabels | undefined
}

/** Builds a plugin's capabilities for one call: exactly its grants, dead after the call (docs/design.md section 8). */
export function openCapabilities(
  plugin: LoadedPlugin,
  context: ToolContext,
  deps: CapabilityDeps,
  { as = 'tool', tool, onAsk, goesTo, check, labels }: OpenOptions = {},
) {
  const over = createCallEnd()
  const askOf = (part: SharedPart): AskStorage => {
    const keeper = keeperOf(part, context)
    const ask = withSafeErrors((request) => deps.sessions.at(keeper).storage(request))
    return labels?.wrap(ask) ?? ask
  }
  const guard = createGuard(over, check)
  const log = createLog(context, over)
  const refuse = createRefuse(context)
  const parts: CallParts = { plugin, context, deps, refuse, labels }
  const user = { call: context.call, emit: context.emit, plugin: plugin.manifest.id, tool }
  const secrets = createCallSecrets(plugin.granted.secrets, user, deps)
  // Made when first read: most calls use one or two.
  const made: { -readonly [K in keyof Capabilities]?: Capabilities[K] } = {}
  const signalOf = () => (made.signal ??= AbortSignal.any([context.signal, over.signal()]))
  const granted: { isolate?: GrantedIsolate } = {}
  const capabilities: Capabilities = {
    get fetch() {
      const onRedirect = goesTo && labels?.reachHost
      const call = { signal: signalOf(), secrets, goesTo, onRedirect }
      return (made.fetch ??= guard(reaching(labels, createPluginFetch(parts, call))))
    },
    get storage() {
      return (made.storage ??= guardAll(guard, createPluginStorage(parts, askOf('storage'))))
    },
    get workspace() {
      return (made.workspace ??= guardAll(guard, createWorkspace(parts, askOf('workspace'))))
    },
    get memory() {
      const longTerm = () => createLongTermPart(parts, tool)
      return (made.memory ??= guardAll(guard, createMemory(parts, askOf('memory'), longTerm)))
    },
    get secrets() {
      const { ref, ...signing } = createPluginSecrets(secrets)
      return (made.secrets ??= { ref, ...guardAll(guard, signing) })
    },
    get tools() {
      return (made.tools ??= guardAll(guard, createPluginTools(parts)))
    },
    get model() {
      const terms = termsOf(plugin, as)
      return (made.model ??= guardAll(guard, createPluginModel(context, terms, refuse('model'))))
    },
    get database() {
      const { query } = createDatabase(parts)
      return (made.database ??= guardAll(guard, { query: reaching(labels, query) }))
    },
    get isolate() {
      granted.isolate ??= createIsolate(parts, { signal: signalOf(), tools: this.tools })
      return (made.isolate ??= guardAll(guard, granted.isolate.isolate))
    },
    idempotencyKey: context.idempotencyKey,
    get request() {
      const options = { granted: plugin.granted.request, context, deps, refuse, onAsk }
      return (made.request ??= guardAll(guard, createPluginRequest(options)) as PluginRequest)
    },
    // An invalid level is left out: a log line is for people, and no reason to fail a call.
    log: (message, level) =>
      log(message, (said) => ({
        type: 'tool_log',
        data: { ...said, ...defined({ level: levelOf(level) }) },
      })),
    progress: (message, at) =>
      log(message, (said) => ({ type: 'tool_progress', data: { ...said, ...toNumbers(at) } })),
    get emit() {
      return (made.emit ??= guard(createEmit(parts)))
    },
    get signal() {
      return signalOf()
    },
  }
  return {
    capabilities,
    /** Spending of the call besides tools and models, which count their own. */
    spent: () => granted.isolate?.spent(),
    /** Afterwards every function rejects, and the signal has fired. */
    close: over.end,
  }
}
