import { ToolError } from 'isola/plugin'
import type {
  Capabilities,
  PluginDatabase,
  PluginIsolate,
  PluginMemory,
  PluginModel,
  PluginSecrets,
  PluginStorage,
  PluginTools,
} from '#features/plugins/types/plugin.ts'
import { toJson } from '../json-border.ts'
import { createRequest } from '../request-shorthand.ts'
import { toPlaceholder } from '../../secrets/placeholder.ts'

/** The host's functions for one call, each dead when the call is over. */
export interface CallStubs {
  readonly port: (verb: string, json: string) => Promise<string>
  readonly fetcher: (json: string) => Promise<Response | string>
  readonly closed: () => Promise<void>
}

const maxLogs = 200

/** `Capabilities` over the stubs of one call. `settle` waits for log lines that the plugin did not await. */
export function openCapabilities(
  { port, fetcher, closed }: CallStubs,
  { idempotencyKey, nonce }: { readonly idempotencyKey: string; readonly nonce: string },
): { readonly capabilities: Capabilities; readonly settle: () => Promise<unknown> | undefined } {
  const listening: { signal?: AbortSignal } = {}
  const ask = async (verb: string, given: readonly unknown[]): Promise<unknown> =>
    read(await port(verb, JSON.stringify(toJson(given))))
  const told: Promise<unknown>[] = []
  const tell = (verb: string, message: string, more: unknown): void => {
    const said = [String(message).slice(0, 2_000), ...(more === undefined ? [] : [more])]
    if (told.length < maxLogs) told.push(ask(verb, said))
  }
  return {
    capabilities: {
      fetch: createFetch(fetcher),
      storage: createStorage('storage', ask),
      workspace: createStorage('workspace', ask),
      memory: createMemory(ask),
      secrets: createSecrets(ask, nonce),
      tools: { call: (name, input) => ask('tools.call', [name, input]) } as PluginTools,
      model: { generate: (request) => ask('model.generate', [request]) } as PluginModel,
      database: {
        query: (sql, parameters = []) => ask('database.query', [sql, parameters]),
      } as PluginDatabase,
      isolate: {
        run: (code, options = {}) => ask('isolate.run', [code, options]),
      } as PluginIsolate,
      idempotencyKey,
      request: createRequest((asks) => ask('request.all', [asks])),
      log: (message, level) => tell('log', message, level),
      progress: (message, at) => tell('progress', message, at),
      emit: (event, payload) => ask('emit', [event, payload]) as Promise<void>,
      get signal() {
        return (listening.signal ??= toSignal(closed))
      },
    },
    settle: () => (told.length === 0 ? undefined : Promise.allSettled(told)),
  }
}

/** Calls the host only for a listener: most plugins do not listen, and their work ends with the call anyway. */
function toSignal(closed: CallStubs['closed']): AbortSignal {
  const over = new AbortController()
  void closed().then(
    () => over.abort(new ToolError('tool_failed', { message: 'This call is over.' })),
    () => over.abort(),
  )
  return over.signal
}

function read(text: string): unknown {
  const answer: unknown = JSON.parse(text)
  const { value, error } = Object(answer) as { value?: unknown; error?: { message: string } }
  if (error) throw new ToolError('tool_failed', error)
  return value
}

type Ask = (verb: string, given: readonly unknown[]) => Promise<unknown>

function createStorage(space: string, ask: Ask): PluginStorage {
  const storage: Record<keyof PluginStorage, (...given: readonly unknown[]) => Promise<unknown>> = {
    get: (key) => ask(`${space}.get`, [key]),
    set: (key, value) => ask(`${space}.set`, [key, value]),
    delete: (key) => ask(`${space}.delete`, [key]),
    list: (options = {}) => ask(`${space}.list`, [options]),
  }
  return storage as unknown as PluginStorage
}

function createSecrets(ask: Ask, nonce: string): PluginSecrets {
  return {
    ref: (name) => toPlaceholder(name, nonce),
    hmac: (name, text) => ask('secrets.hmac', [name, text]) as Promise<string>,
    verify: (name, text, signature) =>
      ask('secrets.verify', [name, text, signature]) as Promise<boolean>,
    sign: (name, body) => ask('secrets.sign', [name, body]) as Promise<Record<string, string>>,
    verifyRequest: (name, request) =>
      ask('secrets.verifyRequest', [name, request]) as Promise<boolean>,
  }
}

function createMemory(ask: Ask): PluginMemory {
  const memory: Record<keyof PluginMemory, (...given: readonly unknown[]) => Promise<unknown>> = {
    append: (text, options = {}) => ask('memory.append', [text, options]),
    read: (options = {}) => ask('memory.read', [options]),
    search: (query, options = {}) => ask('memory.search', [query, options]),
    clear: (options = {}) => ask('memory.clear', [options]),
    remember: (note) => ask('memory.remember', [note]),
    recall: (query = null, options = {}) => ask('memory.recall', [query, options]),
    forget: (ids) => ask('memory.forget', [ids]),
  }
  return memory as unknown as PluginMemory
}

function createFetch(fetcher: CallStubs['fetcher']): Capabilities['fetch'] {
  return async (url, { method, headers, body, signal } = {}) => {
    signal?.throwIfAborted()
    const asked = fetcher(JSON.stringify(toJson({ url, method, headers, body })))
    const answer = await (signal ? Promise.race([asked, aborted(signal)]) : asked)
    if (typeof answer !== 'string') return answer
    read(answer)
    throw new ToolError('tool_failed', { message: 'There was no answer.' })
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  )
}

/** The global `fetch` of a call, for libraries: turns a Request or a byte body into the form that our `fetch` takes. */
export function toGlobalFetch(fetch: Capabilities['fetch']): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const isBodyless = request.method === 'GET' || request.method === 'HEAD'
    return fetch(request.url, {
      method: request.method,
      headers: Object.fromEntries(request.headers),
      ...(!isBodyless && request.body && { body: await request.text() }),
      ...(init?.signal && { signal: init.signal }),
    })
  }
}
