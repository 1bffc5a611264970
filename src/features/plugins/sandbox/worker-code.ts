import type { CallStubs } from './inside/capabilities.ts'

/** Our own modules inside every isolate, and the hash of them. */
export interface IsolateShim {
  readonly modules: Readonly<Record<string, string>>
  /** Those in an isolate that runs code of a model. */
  readonly modelModules: Readonly<Record<string, string>>
  readonly version: string
}

/** The settings of every isolate; a part of its id. */
export const isolateSettings = {
  compatibilityDate: '2026-08-01',
  compatibilityFlags: ['nodejs_als'],
  // One per call of the port or the fetcher, and `closed`. Not enforced by workerd on a developer's machine.
  limits: { cpuMs: 10_000, subRequests: 1_200 },
} as const

/**
 * Built-in modules that a plugin may not import: ours stand before them. `cloudflare:workers` is the entry's own, and
 * before `node:` nothing can stand: of those the flag leaves async_hooks and a process without env.
 */
const shadowed = ['cloudflare:sockets', 'cloudflare:node', 'cloudflare:workflows']

const entry = 'entry.ts'
const forbidden = "throw new Error('A plugin imports isola/plugin only.')"

/**
 * The one place that builds a WorkerCode (docs/security.md T5). `env` is empty; left out,
 * `globalOutbound` would be the host's own network.
 */
function toWorkerCode(modules: IsolateShim['modules']): WorkerLoaderWorkerCode {
  const texts = { ...Object.fromEntries(shadowed.map((name) => [name, forbidden])), ...modules }
  return {
    compatibilityDate: isolateSettings.compatibilityDate,
    compatibilityFlags: [...isolateSettings.compatibilityFlags],
    limits: { ...isolateSettings.limits },
    mainModule: entry,
    modules: Object.fromEntries(Object.entries(texts).map(([name, js]) => [name, { js }])),
    env: {},
    globalOutbound: null,
  }
}

const withCode = (modules: IsolateShim['modules'], code: string): WorkerLoaderWorkerCode =>
  toWorkerCode({ ...modules, 'plugin-code.js': code })

/** What the model wrote begins in the second line. */
const toModule = (code: string): string => `export default async (tools, console) => {\n${code}\n}`

/** Answers for code that is not there, and takes its own isolate away, so that the next call asks for the code again. */
const unavailable: Readonly<Record<string, string>> = {
  [entry]: `
    import { abortIsolate, WorkerEntrypoint } from 'cloudflare:workers'
    export default class extends WorkerEntrypoint {
      run() {
        const answered = new Promise((resolve) => setTimeout(resolve, 0))
        this.ctx.waitUntil(answered.then(() => abortIsolate('no code')))
        return '{"error":{"code":"plugin_code_unavailable","message":"","transient":true}}'
      }
    }`,
}

/** What the Runner calls in an isolate. The answer is foreign: anything. */
export interface Isolate {
  readonly run: (
    job: string,
    port: CallStubs['port'],
    fetcher: CallStubs['fetcher'],
    closed: CallStubs['closed'],
  ) => Promise<unknown>
}

/** What reads an archive in an isolate. The answer is foreign: anything. */
export interface ArchiveIsolate {
  readonly read: (archive: Uint8Array) => Promise<unknown>
  readonly readSkills: (archive: Uint8Array, only: readonly string[]) => Promise<unknown>
}

/** The Worker Loader, and the code that it is given. */
export interface IsolatesDeps {
  /** Missing where the deployment has no such binding. */
  readonly loader: WorkerLoader | undefined
  readonly shim: IsolateShim
  /** The plugin's one module by the plugin's hash. */
  readonly codeOf: (plugin: string) => Promise<string>
}

/** Isolates, by their ids where they stay. */
export interface Isolates {
  /** The isolate of this id; it is started with the code of this plugin if it is not there. */
  readonly open: (id: string, plugin: string) => Isolate
  /** One for code that a model wrote, the body of an async function. It goes with its call. */
  readonly openModelCode: (code: string) => Isolate
  /** One for our own code that reads archives, a whole module. It goes with its call. */
  readonly openReader: (code: string) => ArchiveIsolate
}

/**
 * The one use of the Worker Loader. What has an id stays as long as workerd runs on a developer's machine, with its
 * memory; so what is used once has none (issue 31: 840 refused zips ended the server).
 */
export function createIsolates({ loader, shim, codeOf }: IsolatesDeps): Isolates | undefined {
  if (!loader) return undefined
  return {
    open: (id: string, plugin: string): Isolate => {
      const stub = loader.get(id, async () => {
        // A callback that throws would stick to the id.
        const code = await codeOf(plugin).catch(() => undefined)
        return code === undefined ? toWorkerCode(unavailable) : withCode(shim.modules, code)
      })
      return stub.getEntrypoint() as unknown as Isolate
    },
    openModelCode: (code) =>
      loader
        .load(withCode(shim.modelModules, toModule(code)))
        .getEntrypoint() as unknown as Isolate,
    openReader: (code) =>
      loader.load(toWorkerCode({ [entry]: code })).getEntrypoint() as unknown as ArchiveIsolate,
  }
}
