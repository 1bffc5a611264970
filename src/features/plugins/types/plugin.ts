/**
 * The plugin API, importable as `isola/plugin`. One file without imports, however long: it is a module in every isolate
 * as it stands, and all that an author has to read.
 *
 * A plugin is a folder with `plugin.yaml` and, if it has code, an entry module whose default export is `register`.
 * Names, descriptions and schemas live in the manifest alone; the module holds behaviour only.
 * @see docs/design.md section 8
 */

/** The version of this API; a manifest's `api` range must include it. */
export const pluginApiVersion = '1.4.0'

/** All that crosses the border between a plugin and its host. */
export type JsonValue =
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

/** A note that outlives its session. */
export interface PluginNote {
  readonly id: string
  readonly text: string
  readonly scope: 'principal' | 'agent' | 'deployment'
  readonly kind: string
  readonly speaker?: string
  readonly caption?: string
  readonly date?: string
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** Ids of notes that say something else of much the same. */
  readonly differsFrom?: readonly string[]
}

/** Notes of the session: at most 1,000 of 8,000 characters, the oldest go first; and those that outlive it. */
export interface PluginMemory {
  /** Keeps a note beyond the session: the principal's unless it says otherwise. A run may keep 20. */
  readonly remember: (note: {
    readonly text: string
    readonly scope?: 'principal' | 'agent'
    readonly kind?: 'note' | 'fact' | 'preference'
    readonly speaker?: string
    readonly date?: string
    /** Id of a note of the same scope that this one takes the place of. */
    readonly replaces?: string
  }) => Promise<{
    readonly id: string
    readonly state: 'added' | 'merged' | 'replaced'
    readonly differsFrom?: readonly string[]
  }>
  /**
   * Searches these scopes, all if absent: best first, or without a query the latest first. 10 notes by default, 50 at
   * most.
   */
  readonly recall: (
    query: string | undefined,
    options?: {
      readonly scopes?: readonly ('principal' | 'agent' | 'deployment')[]
      readonly limit?: number
    },
  ) => Promise<readonly PluginNote[]>
  /** Forgets notes of the principal and of the agent; answers how many. */
  readonly forget: (ids: readonly string[]) => Promise<number>
  /** Short-term, for the session: the scratchpad, or one of the streams that the agent declares. */
  readonly append: (
    text: string,
    options?: { readonly stream?: string },
  ) => Promise<{ readonly id: string; readonly text: string; readonly atMs: number }>
  readonly read: (options?: {
    readonly limit?: number
    readonly stream?: string
  }) => Promise<readonly { readonly id: string; readonly text: string; readonly atMs: number }[]>
  readonly search: (
    query: string,
    options?: { readonly limit?: number; readonly stream?: string },
  ) => Promise<readonly { readonly id: string; readonly text: string; readonly atMs: number }[]>
  readonly clear: (options?: { readonly stream?: string }) => Promise<void>
}

/** Secrets by reference: no function here gives a value away. */
export interface PluginSecrets {
  /**
   * A placeholder to put where the grant says (in the header, the path or the parameter that it names, in user or
   * password of basic authentication): the host replaces it in requests to the granted host, once in each, nowhere
   * else. Valid in this call only: a stored placeholder is plain text.
   */
  readonly ref: (name: string) => string
  /**
   * HMAC-SHA-256 of a text under the secret, lowercase hex. The grant says `in: hmac`, or `scheme: base64` for that.
   */
  readonly hmac: (name: string, text: string) => Promise<string>
  /** Whether `signature` is that of the text, written as `hmac` writes it; compared in constant time. */
  readonly verify: (name: string, text: string, signature: string) => Promise<boolean>
  /**
   * The headers that a webhook of ours is signed with, by the grant's `scheme`: github, slack, stripe, shopify, line.
   */
  readonly sign: (name: string, body: string) => Promise<Readonly<Record<string, string>>>
  /**
   * Whether the sender of a webhook has the secret, by the grant's `scheme` (discord and telegram, too), and signed
   * it not more than 5 minutes ago where the scheme has a time. `body` as it came in, before any parser.
   */
  readonly verifyRequest: (
    name: string,
    request: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
  ) => Promise<boolean>
}

/** Other tools, exactly those of `uses_tools` in plugin.yaml. Each passes every gate under its own name. */
export interface PluginTools {
  /** The tool's output; rejects with a ToolError if it failed or was refused. */
  readonly call: (name: string, input: Input) => Promise<JsonValue>
}

/** A model of the deployment, within `grants.model` (of an agent: within its limits). */
export interface PluginModel {
  readonly generate: (request: {
    readonly system?: string
    readonly prompt: string
    /** One of the granted models; the first of them, or the deployment's default, if left out. */
    readonly model?: string
    readonly maxOutputTokens?: number
    readonly temperature?: number
  }) => Promise<{
    readonly text: string
    readonly model: string
    readonly inputTokens: number
    readonly outputTokens: number
  }>
}

/** A database of the operator's, parameters bound by position. Builtin plugins with the `database` grant. */
export interface PluginDatabase {
  readonly query: (
    sql: string,
    parameters?: readonly (string | number | null)[],
  ) => Promise<{
    readonly rows: readonly JsonValue[]
    /** There were more rows, or they were too large to be handed on. */
    readonly truncated: boolean
    readonly changes: number
  }>
}

/** Code that a model wrote, in an isolate without network and secrets. Builtin plugins with the `isolate` grant. */
export interface PluginIsolate {
  /** `code` is the body of an async function with `tools` in scope; answers what it returns. */
  readonly run: (
    code: string,
    options?: { readonly timeoutMs?: number },
  ) => Promise<{ readonly result: JsonValue; readonly logs: readonly string[] }>
}

/** A question to a person, as a form. */
export interface ElicitRequest {
  readonly message: string
  /** JSON Schema of an object with flat members; an answer that does not fit it is asked for again. */
  readonly schema: { readonly [key: string]: JsonValue }
}

/** `content` is there, and fits the schema, if the person accepted. */
export interface ElicitAnswer {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: Input
}

/** A request to the client's own model; the client may ask its person first, and may refuse. */
export interface SampleRequest {
  readonly messages: readonly PromptMessage[]
  readonly maxTokens: number
  readonly system?: string
  readonly temperature?: number
}

/** The answer of the client's model. */
export interface SampleAnswer {
  readonly role: 'user' | 'assistant'
  readonly content: ContentBlock
  readonly model: string
  readonly stopReason?: string
}

/** A folder or place that the client works in. */
export interface Root {
  readonly uri: string
  readonly name?: string
}

/**
 * One of several questions in one request. An `optional` question is answered `null` where the client cannot be asked
 * it.
 */
export type Ask =
  | ({ readonly kind: 'elicit'; readonly optional?: boolean } & ElicitRequest)
  | ({ readonly kind: 'sample'; readonly optional?: boolean } & SampleRequest)
  | { readonly kind: 'roots'; readonly optional?: boolean }

/**
 * Asks the other side of the call: the person, the client's model, the client. `grants.request` names which of them.
 *
 * The answer may take days, and nothing stays in memory for it: **the call ends where it asks, and runs again from its
 * start once the answer is there**; then the same question is answered at once. So ask before the first effect, and ask
 * the same way each time: an answer holds for exactly the question it was given to. At most 16 questions and 64 KiB of
 * them a call. Only in a call of an agent whose run can wait (`/api`, `/mcp`); elsewhere the call is refused.
 */
export interface PluginRequest {
  readonly elicit: (asked: ElicitRequest & { readonly key?: string }) => Promise<ElicitAnswer>
  readonly sample: (asked: SampleRequest & { readonly key?: string }) => Promise<SampleAnswer>
  readonly roots: (asked?: { readonly key?: string }) => Promise<readonly Root[]>
  /** Several at once, by names of yours. */
  readonly all: <K extends string>(asked: {
    readonly [key in K]: Ask
  }) => Promise<{ readonly [key in K]: any }> // oxlint-disable-line typescript/no-explicit-any -- by what was asked
}

/** As the Model Context Protocol has them, from the least to the most severe. */
export type LogLevel =
  | 'debug'
  | 'info'
  | 'notice'
  | 'warning'
  | 'error'
  | 'critical'
  | 'alert'
  | 'emergency'

/** The abilities of one call, given with it and dead after it. An ability without a grant answers with an error. */
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
  /** Files of the session, text by path. Builtin plugins with the `workspace` grant. */
  readonly workspace: PluginStorage
  /** The session's scratchpad. Builtin plugins with the `memory` grant. */
  readonly memory: PluginMemory
  readonly secrets: PluginSecrets
  readonly tools: PluginTools
  readonly model: PluginModel
  readonly database: PluginDatabase
  readonly isolate: PluginIsolate
  /** Stable over retries: send it along where the other side can honour it. */
  readonly idempotencyKey: string
  readonly request: PluginRequest
  /**
   * At most 2,000 characters; `info` unless it says otherwise. Of a call the first 200 lines are kept, of both kinds.
   */
  readonly log: (message: string, level?: LogLevel) => void
  /** How far the call is, for a client that shows progress: `progress` of `total`, in any unit, growing. */
  readonly progress: (
    message: string,
    at?: { readonly progress: number; readonly total?: number },
  ) => void
  /**
   * Says what happened, for those who subscribe to it: an event of `contributes.events`, with a payload that fits its
   * schema, at most 8,192 characters of JSON. At most 20 a call, in a call of a tool or an agent.
   */
  readonly emit: (event: string, payload: Input) => Promise<void>
  /** Fires on timeout, cancel and revoked lease. */
  readonly signal: AbortSignal
}

/** Input has been validated against the manifest; the result must be JSON. */
export type ToolFunction<I = Input> = (input: I, capabilities: Capabilities) => Promise<unknown>

/** Text, or bytes in base64. `mimeType` is what the manifest says if it is left out. */
export type ResourceContent =
  | { readonly text: string; readonly mimeType?: string; readonly uri?: string }
  | { readonly blob: string; readonly mimeType?: string; readonly uri?: string }

/** A part of a rich answer, as the Model Context Protocol spells it; `data` and `blob` are base64. */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource'
      readonly resource: ResourceContent & { readonly uri: string }
    }
  | {
      readonly type: 'resource_link'
      readonly uri: string
      readonly name: string
      readonly title?: string
      readonly description?: string
      readonly mimeType?: string
    }

/**
 * What a tool may return instead of any other JSON, to answer with more than text: these two keys and no others, at
 * most 1 MiB together. An MCP client gets the blocks; a model and every other client read it as the JSON it is, and
 * like any long answer it is kept behind a handle.
 */
export interface RichOutput {
  readonly content: readonly ContentBlock[]
  /** The part for programs. */
  readonly structured?: JsonValue
}

/**
 * Reads one of the manifest's resources. `uri` is what was asked for; of a `uriTemplate` its variables come too.
 * A text is content of the declared type; several contents are those of a folder, say. At most 1 MiB together.
 */
export type ResourceFunction = (
  asked: { readonly uri: string } & Readonly<Record<string, string>>,
  capabilities: Capabilities,
) => Promise<string | ResourceContent | readonly ResourceContent[]>

/** One message of a prompt, or of a request to a model. */
export interface PromptMessage {
  readonly role: 'user' | 'assistant'
  /** A text is one block of it. */
  readonly content: string | ContentBlock
}

/** Makes one of the manifest's prompts; the required arguments are there. A text is one message of the person's. */
export type PromptFunction = (
  given: Readonly<Record<string, string>>,
  capabilities: Capabilities,
) => Promise<string | readonly PromptMessage[]>

/**
 * Answers in the place of what is built in. A request is JSON with a `verb` and whose it is (`principal`, `places`);
 * the verbs and answers of each kind are on the page about plugins. Asked outside of sessions: without tools, model
 * and isolate, and with storage of a principal or the deployment.
 */
export type ProviderFunction<I = Input> = (
  request: I,
  capabilities: Capabilities,
) => Promise<unknown>

/** An agent with code of its own: one method (Y5). */
export interface AgentCode {
  readonly invoke: (
    request: { readonly task: string; readonly context?: string },
    capabilities: Capabilities,
  ) => Promise<string>
}

/** A plugin that the clock starts (Y10): runnable by hand as the tool `<plugin>__execute`. */
export interface ScheduleCode {
  /** Text to tell its owner, or nothing. */
  readonly execute: (capabilities: Capabilities) => Promise<{ readonly text: string } | void>
}

/** An event for a hook; the point decides which members it has. */
export interface HookEvent {
  readonly on: string
  readonly session: string
  readonly run: string
  /** The run's agent; `subAgentStop`: the agent that stopped, in its caller's session and run. */
  readonly agent: string
  readonly principal: string
  /** `beforeToolCall`, `afterToolCall`. */
  readonly tool?: string
  readonly input?: Input
  /** `afterToolCall`: the output, or `{ error: { code, message } }`. `subAgentStop`: `{ session, state, error? }`. */
  readonly result?: JsonValue
  /** `beforeModelCall` (absent: the default), `afterModelCall`. */
  readonly model?: string
  /** `beforeDispatch`: the person's text. `afterModelCall`: the model's text; `subAgentStop`: the agent's text. */
  readonly text?: string
}

/**
 * A hook's answer; no answer lets the event pass unchanged. A veto wins over every change. A member that the point
 * does not know is refused: before points and afterToolCall may veto; `input` is for beforeToolCall, `result` for
 * afterToolCall, `text` for beforeModelCall, where it is added to the instructions.
 */
export type HookAnswer = {
  readonly veto?: string
  readonly input?: Input
  readonly result?: JsonValue
  readonly text?: string
} | void

/**
 * Called with the events that match, in order; a hook that fails or is late counts as a veto where a veto is
 * possible.
 */
export type HookFunction = (event: HookEvent, capabilities: Capabilities) => Promise<HookAnswer>

/**
 * The protocols a plugin implements, seen from what `register` returns (Y4); their names must equal what the manifest
 * contributes. Protocols whose rooms are not built yet are refused at load with "not yet".
 */
export interface PluginParts<Inputs = Readonly<Record<string, Input>>> {
  readonly tools?: { readonly [name in keyof Inputs]: ToolFunction<Inputs[name]> }
  readonly agent?: AgentCode
  readonly channel?: unknown
  readonly service?: unknown
  readonly schedule?: ScheduleCode
  /** By hook point, as in `contributes.hooks`. */
  readonly hooks?: Readonly<Record<string, HookFunction>>
  /** By kind, as in `contributes.providers`. */
  readonly providers?: Readonly<Record<string, ProviderFunction>>
  /** By name, as in `contributes.resources`. */
  readonly resources?: Readonly<Record<string, ResourceFunction>>
  /** By name, as in `contributes.prompts`. */
  readonly prompts?: Readonly<Record<string, PromptFunction>>
}

/**
 * The default export of an entry module. It gets no capability: those come with each call. `Inputs` is what each tool
 * is given, by name, as `isola plugin types` writes it from plugin.yaml.
 */
export type Plugin<Inputs = Readonly<Record<string, Input>>> = (about: {
  readonly id: string
  readonly version: string
  readonly config: Readonly<Record<string, unknown>>
}) => PluginParts<Inputs>
