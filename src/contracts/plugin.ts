/**
 * The plugin API, importable as `isola/plugin`. One file without imports: it is also a module in every isolate.
 *
 * A plugin is a folder with `plugin.yaml` and, if it has code, an entry module whose default export is `register`.
 * Names, descriptions and schemas live in the manifest alone; the module holds behaviour only.
 * @see DESIGN.md section 8
 */

/** The version of this API; a manifest's `api` range must include it. */
export const pluginApiVersion = '1.0.0'

type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }
/** Validated against the manifest's `input_schema`, which TypeScript cannot see: hence `any`, here alone. */
// oxlint-disable-next-line typescript/no-explicit-any
type Input = Readonly<Record<string, any>>

/**
 * A failure the model may read. Of an error only the code, the message (at most 2,000 characters) and `transient`
 * cross the border; `transient` never permits a re-run.
 */
export class ToolError extends Error {
  readonly code: 'tool_failed'
  readonly transient: boolean

  constructor(
    code: 'tool_failed',
    options: { readonly message: string; readonly transient?: boolean },
  ) {
    super(options.message)
    this.name = 'ToolError'
    this.code = code
    this.transient = options.transient ?? false
  }
}

/** Named JSON values, at most 1 MiB each, in the scope the manifest asked for. */
export interface PluginStorage {
  readonly get: (key: string) => Promise<JsonValue | undefined>
  readonly set: (key: string, value: JsonValue) => Promise<void>
  readonly delete: (key: string) => Promise<boolean>
  readonly list: (options?: {
    readonly prefix?: string
    readonly limit?: number
  }) => Promise<readonly string[]>
}

export interface PluginMemory {
  readonly append: (
    text: string,
  ) => Promise<{ readonly id: string; readonly text: string; readonly atMs: number }>
  readonly read: (options?: {
    readonly limit?: number
  }) => Promise<readonly { readonly id: string; readonly text: string; readonly atMs: number }[]>
  readonly search: (
    query: string,
    options?: { readonly limit?: number },
  ) => Promise<readonly { readonly id: string; readonly text: string; readonly atMs: number }[]>
  readonly clear: () => Promise<void>
}

/** What a call can do, given with each call and dead after it. What was not granted answers with an error. */
export interface Capabilities {
  /** Reaches the granted hosts only, by the granted methods. */
  readonly fetch: (
    url: string,
    init?: {
      readonly method?: string
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string
      readonly signal?: AbortSignal
    },
  ) => Promise<Response>
  readonly storage: PluginStorage
  /** Files of the session tree, text by path. Builtin plugins with the `workspace` grant. */
  readonly workspace: PluginStorage
  /** The session tree's scratchpad. Builtin plugins with the `memory` grant. */
  readonly memory: PluginMemory
  /** Stable over retries: send it along where the other side can honour it. */
  readonly idempotencyKey: string
  readonly log: (message: string) => void
  readonly progress: (message: string) => void
  /** Fires on timeout, cancel and revoked lease. */
  readonly signal: AbortSignal
}

/** Input has been validated against the manifest; what is returned must be JSON. */
export type ToolFunction = (input: Input, capabilities: Capabilities) => Promise<unknown>

/** An agent with code of its own: one method (Y5). */
export interface AgentCode {
  readonly invoke: (
    request: { readonly task: string; readonly context?: string },
    capabilities: Capabilities,
  ) => Promise<string>
}

/**
 * The protocols a plugin implements, seen from what `register` returns (Y4); their names must equal what the
 * manifest contributes. Those whose rooms are not built yet are refused at load with "not yet".
 */
export interface PluginParts {
  readonly tools?: Readonly<Record<string, ToolFunction>>
  readonly agent?: AgentCode
  readonly channel?: unknown
  readonly service?: unknown
  readonly schedule?: unknown
  readonly hooks?: unknown
  readonly providers?: unknown
  readonly resources?: unknown
  readonly prompts?: unknown
}

/** The default export of an entry module. It gets no capability: those come with each call. */
export type Plugin = (about: {
  readonly id: string
  readonly version: string
  readonly config: Readonly<Record<string, unknown>>
}) => PluginParts
