import {
  type LogLevel,
  ToolError,
  type Capabilities,
  type PluginRequest,
  type PluginTools,
} from '#contracts/plugin.ts'
import { headOf } from '#contracts/cut.ts'
import type { EventData, EventDraft } from '#contracts/event.ts'
import type { ToolContext } from '#contracts/tool.ts'
import type { OutsideAddress } from '#contracts/network-rule.ts'
import { keeperOf } from '../types/plugin-service.ts'
import type { SharedPart } from '#contracts/shared-parts.ts'
import type { Usage } from '#contracts/lease.ts'
import { createPluginModel } from './ask-model.ts'
import { createEmit } from './emit-event.ts'
import { createPluginTools } from './call-tools.ts'
import type { CapabilityDeps } from './capability-deps.ts'
import {
  createDatabase,
  createIsolate,
  createMemory,
  createPluginFetch,
  createPluginStorage,
  createWorkspace,
  termsOf,
  createRefuse,
} from './granted-parts.ts'
import { withSafeErrors, type AskStorage } from './storage/granted-storage.ts'
import { createLongTermPart } from './long-term-memory.ts'
import type { LoadedPlugin } from '../loading/in-process-host.ts'
import type { CallLabels } from './plugin-flow.ts'
import { createPluginRequest, type OnAsk } from './plugin-request.ts'
import { createCallSecrets } from '../secrets/call-secrets.ts'
import { createPluginSecrets } from '../secrets/secret-capability.ts'

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

/** The end of one call. An AbortController is made only for a listener: it costs more than most calls do. */
interface CallEnd {
  readonly isOver: () => boolean
  readonly throwIfAborted: () => void
  readonly signal: () => AbortSignal
  readonly end: () => void
}

/** The end of a running call. */
function createCallEnd(): CallEnd {
  const state: { isOver: boolean; controller?: AbortController } = { isOver: false }
  const isOver = (): boolean => state.isOver
  const reason = () => new ToolError('tool_failed', { message: 'This call is over.' })
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
    end() {
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

/** An invalid level is left out: a log line is for people, and no reason to fail a call. */
const toLevel = (level: unknown): Pick<EventData<'tool_log'>, 'level'> => {
  const known = levelOf(level)
  return known === undefined ? {} : { level: known }
}

/** A call's progress as numbers; `{}` without valid numbers. */
function toNumbers(at: unknown): Pick<EventData<'tool_progress'>, 'progress' | 'total'> {
  const { progress, total } = Object(at) as {
    readonly progress?: unknown
    readonly total?: unknown
  }
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

/** The capabilities of one call, and the function that ends them. */
export interface OpenCapabilities {
  readonly capabilities: Capabilities
  /** Afterwards every function rejects, and the signal has fired. */
  readonly close: () => void
  /** Spending of the call besides tools and models, which count their own. */
  readonly spent: () => Usage | undefined
}

/** Options of one call besides its context. */
export interface OpenOptions {
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
): OpenCapabilities {
  const over = createCallEnd()
  const labelled = (one: AskStorage) => labels?.wrap(one) ?? one
  const askOf = (part: SharedPart): AskStorage => {
    const keeper = keeperOf(part, context)
    return labelled(withSafeErrors((request) => deps.sessions.at(keeper).storage(request)))
  }
  const guard = createGuard(over, check)
  const reaching =
    <Args extends readonly unknown[], T>(run: (...args: Args) => T) =>
    (...args: Args): T => {
      labels?.reach()
      return run(...args)
    }
  const log = createLog(context, over)
  const refuse = createRefuse(context)
  const user = { call: context.call, emit: context.emit, plugin: plugin.manifest.id, tool }
  const secrets = createCallSecrets(plugin.granted.secrets, user, deps)
  // Made when first read: most calls use one or two.
  const made: { -readonly [K in keyof Capabilities]?: Capabilities[K] } = {}
  const signalOf = () => (made.signal ??= AbortSignal.any([context.signal, over.signal()]))
  const granted: { isolate?: ReturnType<typeof createIsolate> } = {}
  const isolateOf = (tools: PluginTools) =>
    (granted.isolate ??= createIsolate(plugin, {
      context: { ...context, signal: signalOf() },
      deps,
      tools,
      refuse,
    }))
  const capabilities: Capabilities = {
    get fetch() {
      const onRedirect = goesTo && labels?.reachHost
      const options = { ...deps, signal: signalOf(), secrets, goesTo, onRedirect }
      return (made.fetch ??= guard(reaching(createPluginFetch(plugin, context, options))))
    },
    get storage() {
      const ask = askOf('storage')
      const options = { ask, context, deps, refuse, labelled, reaching }
      return (made.storage ??= guardAll(guard, createPluginStorage(plugin, options)))
    },
    get workspace() {
      const ask = askOf('workspace')
      return (made.workspace ??= guardAll(guard, createWorkspace(plugin, ask, refuse)))
    },
    get memory() {
      const ask = askOf('memory')
      const longTerm = () => createLongTermPart(context, { ...deps, labels, tool })
      const options = { ...deps, context, refuse, longTerm }
      return (made.memory ??= guardAll(guard, createMemory(plugin, ask, options)))
    },
    get secrets() {
      const { ref, ...signing } = createPluginSecrets(secrets)
      return (made.secrets ??= { ref, ...guardAll(guard, signing) })
    },
    get tools() {
      return (made.tools ??= guardAll(guard, createPluginTools(context, labels)))
    },
    get model() {
      const terms = termsOf(plugin, as)
      return (made.model ??= guardAll(guard, createPluginModel(context, terms, refuse('model'))))
    },
    get database() {
      const { query } = createDatabase(plugin, deps.databases, refuse)
      return (made.database ??= guardAll(guard, { query: reaching(query) }))
    },
    get isolate() {
      return (made.isolate ??= guardAll(guard, isolateOf(this.tools).isolate))
    },
    idempotencyKey: context.idempotencyKey,
    get request() {
      const options = { granted: plugin.granted.request, context, deps, refuse, onAsk }
      return (made.request ??= guardAll(guard, createPluginRequest(options)) as PluginRequest)
    },
    log: (message, level) =>
      log(message, (said) => ({ type: 'tool_log', data: { ...said, ...toLevel(level) } })),
    progress: (message, at) =>
      log(message, (said) => ({ type: 'tool_progress', data: { ...said, ...toNumbers(at) } })),
    get emit() {
      return (made.emit ??= guard(createEmit(plugin, { ...deps, context, labels })))
    },
    get signal() {
      return signalOf()
    },
  }
  return {
    capabilities,
    spent: () => granted.isolate?.spent(),
    close: over.end,
  }
}
