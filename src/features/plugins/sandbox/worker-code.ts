import { IsolaError } from '#contracts/errors.ts'
import type { BundledPlugin } from '../types/manifest.ts'
import type { PluginBundle } from '#runtime/catalog/types/plugin-upload.ts'
import type { BundleStore } from '#runtime/catalog/types/plugin-catalog.ts'
import type { CallStubs } from './inside/capabilities.ts'

/** The code of isolated plugins by the plugin's hash; the Runner reads it when an isolate starts. */
export function createCodeSource(
  plugins: readonly BundledPlugin[],
  bundles: Pick<BundleStore, 'load'>,
): (hash: string) => Promise<string> {
  return async (hash) => {
    const found = plugins.find((plugin) => plugin.isolated && plugin.hash === hash)
    if (found?.isolated?.code !== undefined) return found.isolated.code
    const { code } = JSON.parse(await bundles.load(hash)) as PluginBundle
    if (code !== undefined) return code
    throw new IsolaError('plugin_code_unavailable', `there is no code for ${hash.slice(0, 12)}`)
  }
}

/** Our own modules inside every isolate, and their hash. */
export interface IsolateShim {
  readonly modules: Readonly<Record<string, string>>
  /** The modules of an isolate that runs code of a model. */
  readonly modelModules: Readonly<Record<string, string>>
  readonly version: string
}

/** The settings of every isolate; a part of its id. */
export const isolateSettings = {
  compatibilityDate: '2026-08-01',
  compatibilityFlags: ['nodejs_als'],
  // `subRequests`: one for each call of the port or the fetcher, and `closed`. workerd on a developer's machine does
  // not enforce limits.
  limits: { cpuMs: 10_000, subRequests: 1_200 },
} as const

/**
 * Built-in modules that a plugin may not import: our modules take their names. The entry itself needs
 * `cloudflare:workers`. `node:` names cannot be shadowed; the flag leaves only async_hooks and a process without env.
 */
const shadowed = ['cloudflare:sockets', 'cloudflare:node', 'cloudflare:workflows']

const entry = 'entry.ts'
const forbidden = "throw new Error('A plugin imports isola/plugin only.')"

/**
 * The only place that builds a WorkerCode (docs/security.md T5). `env` is empty. `globalOutbound` must be set to
 * null: without it, the isolate would get the host's own network.
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

/** The model's code begins in the second line. */
const toModule = (code: string): string => `export default async (tools, console) => {\n${code}\n}`

/** Answers that the code is missing, and ends its own isolate, so that the next call asks for the code again. */
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

/** The entry that the Runner calls in an isolate. The answer is untrusted. */
export interface Isolate {
  readonly run: (
    job: string,
    port: CallStubs['port'],
    fetcher: CallStubs['fetcher'],
    closed: CallStubs['closed'],
  ) => Promise<unknown>
}

/** The entry that reads an archive in an isolate. The answer is untrusted. */
export interface ArchiveIsolate {
  readonly read: (archive: Uint8Array) => Promise<unknown>
  readonly readSkills: (archive: Uint8Array, only: readonly string[]) => Promise<unknown>
}

/** The Worker Loader, and the code for its isolates. */
export interface IsolatesDeps {
  /** Absent without such a binding. */
  readonly loader: WorkerLoader | undefined
  readonly shim: IsolateShim
  /** A plugin's one module by the plugin's hash. */
  readonly codeOf: (plugin: string) => Promise<string>
}

/** Opens isolates: with an id they stay, without one they end with their call. */
export interface Isolates {
  /** The isolate with this id; started with this plugin's code if it is not running. */
  readonly open: (id: string, plugin: string) => Isolate
  /** An isolate for code that a model wrote, the body of an async function. Ends with its call. */
  readonly openModelCode: (code: string) => Isolate
  /** An isolate for our own code that reads archives, a whole module. Ends with its call. */
  readonly openReader: (code: string) => ArchiveIsolate
}

/**
 * The only use of the Worker Loader. On a developer's machine an isolate with an id keeps its memory as long as
 * workerd runs, so an isolate for a single use has no id (issue 31: 840 refused zips ended the server).
 */
export function createIsolates({ loader, shim, codeOf }: IsolatesDeps): Isolates | undefined {
  if (!loader) return undefined
  return {
    open: (id: string, plugin: string): Isolate => {
      const stub = loader.get(id, async () => {
        // An error thrown by the callback would stay with the id.
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
