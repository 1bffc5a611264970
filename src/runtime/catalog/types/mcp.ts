import * as z from 'zod'
import type { AskRequest } from '#runtime/kernel/types/asks.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import type { ToolResult } from '#contracts/tool.ts'

/** `open`: the principal has to open this page. */
export type McpLogin =
  | { readonly state: 'signed_in' }
  | { readonly state: 'open'; readonly url: string }

/** `locked`: no present key opens it. */
export interface McpResealed {
  readonly rotated: number
  readonly current: number
  readonly locked: number
}

/** A principal with a sign-in of its own. `ref` stands for it in the state that passes through a browser. */
export interface McpSigner {
  readonly principal: string
  readonly ref: string
}

/** The result of a principal's sign-in in the browser. The principal finishes it with the code. */
export type McpCameBack =
  | { readonly state: 'code'; readonly code: string }
  | { readonly state: 'denied' | 'failed' }

/** At most 24 characters, so that `<server>__<tool>` has at most 64. */
const serverIdForm = /^[a-z][a-z0-9-]{0,23}$/

/** `${secret:NAME}` in a header's value stands for that secret, put in when the request leaves. */
export const secretReference = /\$\{secret:([A-Z][A-Z0-9_]{0,63})\}/g

/** Names of the secrets in this text. */
export const secretNamesIn = (text: string): readonly string[] =>
  [...text.matchAll(secretReference)].flatMap(([, name]) => name ?? [])

const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'must be a header name')
const headerValue = z.string().max(4_096)

/** A remote MCP server as an operator adds it. */
export const mcpServerSchema = z.lazy(() =>
  z.strictObject({
    id: z
      .string()
      .regex(serverIdForm, 'must be 1 to 24 of a-z, 0-9 and "-", beginning with a letter'),
    url: z.string().min(1).max(2_048),
    headers: z
      .record(headerName, headerValue)
      .refine((all) => Object.keys(all).length <= 16, 'must be 16 headers at most')
      .default({}),
    /**
     * `oauth`: the deployment signs in; `principal`: each principal for itself. Otherwise the headers are all there
     * is.
     */
    auth: z.enum(['headers', 'oauth', 'principal']).default('headers'),
    /** Other hosts that its sign-in may use. Hosts of the same site need no mention. */
    authHosts: z.array(z.string().max(253)).max(8).default([]),
    /** The id of a client that the operator registered at the authorization server by hand. */
    clientId: z.string().min(1).max(2_048).exactOptional(),
    clientSecret: z
      .string()
      .regex(/^\$\{secret:[A-Z][A-Z0-9_]{0,63}\}$/, 'must be ${secret:NAME}')
      .exactOptional(),
    /** The authorization server of that client; the first that is used if absent. */
    issuer: z.string().min(1).max(2_048).exactOptional(),
    /** The orchestrator does not get its tools: only agents that name the server do. */
    exclusive: z.boolean().default(false),
    /**
     * The questions that the server may ask in the middle of a call: none, unless the operator allows them
     * (docs/security.md T18).
     */
    allow: z
      .strictObject({
        /** To ask the person of the run, through forms. */
        elicitation: z.boolean().default(false),
        /** Model calls of this deployment: so many tokens for each call of its tools, out of the run's lease. */
        sampling: z
          .strictObject({ maxTokens: z.number().int().min(1).max(1_000_000) })
          .exactOptional(),
      })
      .prefault({}),
    /** The time limit of one call, in milliseconds. */
    timeoutMs: z.number().int().min(1_000).max(600_000).default(60_000),
  }),
)
/** A remote server as an operator adds it. Headers name secrets (`${secret:NAME}`) and hold none. */
export type McpServerConfig = Readonly<z.infer<typeof mcpServerSchema>>

/** The kinds of items that a server lists; its instructions are one item. */
export type McpItemKind = 'tool' | 'resource' | 'template' | 'prompt' | 'instructions'

/** One item of a server, pinned by its hash when an operator approves it. */
export interface McpItem {
  readonly kind: McpItemKind
  /** The server's own name of it: a tool's or a prompt's name, a resource's URI. Unique in its kind. */
  readonly key: string
  /** Of a tool: its name here after `<server>__`, at most 36 of A-Z, a-z, 0-9, `_` and `-`. */
  readonly tool?: string
  /** The server's definition: description, schemas, annotations. */
  readonly definition: JsonObject
  /** sha-256 of kind, key and definition. */
  readonly hash: string
  /** Of an approved tool without a hint about destruction: the operator confirmed that it does not destroy. */
  readonly isHarmless?: boolean
  /** The operator confirmed that it reaches a closed world: no stranger writes there, and no data leaves from there. */
  readonly isClosedWorld?: boolean
}

/** The items of a server, as last listed. */
export interface McpListing {
  readonly server: { readonly name: string; readonly version: string }
  readonly items: readonly McpItem[]
  /** Items that cannot be approved, and why. */
  readonly refused: readonly {
    readonly kind: McpItemKind
    readonly key: string
    readonly why: string
  }[]
  /** Notes for the operator: look-alikes and odd names. */
  readonly notes: readonly string[]
  /** The hash of all items together: an approval names the listing that the operator reviewed. */
  readonly hash: string
  readonly atMs: number
}

/** The approved items of a server, stored as a bundle under its own hash. */
export interface McpApproval {
  readonly server: string
  readonly items: readonly McpItem[]
}

const approvalSchema = z.lazy(() =>
  z.object({
    items: z.array(
      z.object({
        kind: z.enum(['tool', 'resource', 'template', 'prompt', 'instructions']),
        key: z.string(),
        tool: z.string().exactOptional(),
        definition: z.custom<JsonObject>((value) => typeof value === 'object' && value !== null),
        hash: z.string(),
        isHarmless: z.boolean().exactOptional(),
        isClosedWorld: z.boolean().exactOptional(),
      }),
    ),
  }),
)

/** The approved items of a bundle; empty if the bundle cannot be read. */
export function parseApproval(manifest: unknown): McpApproval['items'] {
  const parsed = approvalSchema.safeParse(manifest)
  return parsed.success ? parsed.data.items : []
}

/** `added`: never enabled. `removed`: the row stays, and its stored data is deleted. */
export type McpServerState = 'added' | 'enabled' | 'disabled' | 'removed'

/** A row of the table of servers. */
export interface McpServerRow {
  readonly id: string
  readonly config: McpServerConfig
  readonly state: McpServerState
  /** The hash of the approval's bundle; absent if there is no approval. */
  readonly approvedHash?: string
  /** Names of tools whose annotations the operator confirmed. */
  readonly confirmed: readonly string[]
  /** Raised by each change: work under an older number is ended. */
  readonly epoch: number
  readonly addedBy: string
  readonly addedAtMs: number
}

/** An enabled server, as a generation has it. */
export interface McpPin {
  readonly id: string
  readonly config: McpServerConfig
  /** The hash of the approval's bundle. */
  readonly hash: string
  readonly confirmed: readonly string[]
  readonly epoch: number
  /** The row's `addedAtMs`: a server that was removed and added again is another server. */
  readonly addedAtMs: number
}

/** A change of the remote servers, carried out in one generation with its event. */
export type McpChange =
  | {
      readonly do: 'add'
      readonly config: McpServerConfig
      /** Replaces a server of this id, whose approval is then void. */
      readonly replace?: boolean
    }
  | {
      readonly do: 'approve'
      readonly id: string
      readonly hash: string
      readonly confirmed: readonly string[]
      /** The epoch of the row that the operator reviewed: refused for another one. */
      readonly epoch: number
      /** The lines that differ from the approval before. */
      readonly lines: readonly string[]
    }
  | { readonly do: 'enable' | 'disable' | 'remove'; readonly id: string }

/** The table of servers; rows are written with the generation they belong to. May throw `request_unavailable`. */
export interface McpServerStore {
  readonly find: (id: string) => Promise<McpServerRow | undefined>
  /** All servers except removed ones. */
  readonly list: () => Promise<readonly McpServerRow[]>
}

/** One call of an approved item. */
export interface McpCall {
  /** Names the call for `cancel`; unique among calls under way. */
  readonly callId: string
  readonly config: McpServerConfig
  /** The session tree of the call: the server gets one session for each tree. Absent: the shared session. */
  readonly rootSession?: string
  readonly epoch: number
  /** The item as approved: the server's present item must be the same. */
  readonly item: McpItem
  readonly ask:
    | { readonly do: 'tool'; readonly input: JsonObject }
    | { readonly do: 'resource'; readonly uri: string }
    | { readonly do: 'prompt'; readonly arguments: Readonly<Record<string, string>> }
  readonly idempotencyKey: string
  readonly traceparent: string
  /** The time limit until the answer, connecting included. */
  readonly timeoutMs: number
}

/** How far a call is, as the server says. */
export interface McpProgress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

/** A question of a server in the middle of a call. */
export type McpAsked = Extract<AskRequest, { readonly kind: 'elicit' | 'sample' }>

/** `later`: a person or a client has to answer first. The call ends, and runs again after the answer. */
export type McpAnswered =
  | { readonly state: 'answered'; readonly answer: Json }
  | { readonly state: 'refused'; readonly why: string }
  | { readonly state: 'later' }

/** The caller's ports during a call. They never throw. */
export interface McpCaller {
  readonly tell: (progress: McpProgress) => void
  readonly asked: (asked: McpAsked) => Promise<McpAnswered>
}

/** How a server is reached, without asking it anything. */
export interface McpStanding {
  readonly listing?: McpListing
  /** `signed_out`: the principal has to sign in first. */
  readonly login: 'none' | 'signed_out' | 'signed_in'
  /** The sign-in that was begun last was denied at the authorization server. */
  readonly isDenied?: true
  readonly problem?: string
}

/**
 * The RPC methods of a server's object. At a server where each principal signs in, each principal has an object of its
 * own, and the server's object has the list of them.
 */
export interface McpServerApi {
  /** Lists the server's items. */
  readonly look: (config: McpServerConfig) => Promise<ObjectReply<McpListing>>
  readonly standing: (config: McpServerConfig) => Promise<McpStanding>
  /** Never throws for errors of the server. Ends with `tool_pending` once a question was answered with `later`. */
  readonly call: (
    call: McpCall,
    tell: McpCaller['tell'],
    asked: McpCaller['asked'],
  ) => Promise<ToolResult>
  readonly cancel: (callId: string) => Promise<void>
  /** @param origin Where a browser reaches this deployment. */
  readonly login: (
    config: McpServerConfig,
    origin: string,
    signer?: McpSigner,
  ) => Promise<ObjectReply<McpLogin>>
  /** @param query The query that the browser brought back. */
  readonly finishLogin: (config: McpServerConfig, query: string) => Promise<ObjectReply<null>>
  /** In a principal's object: stores the browser's query until that principal gives the code. */
  readonly cameBack: (config: McpServerConfig, query: string) => Promise<ObjectReply<McpCameBack>>
  readonly confirmLogin: (config: McpServerConfig, code: string) => Promise<ObjectReply<null>>
  /**
   * In the server's own object: stores that this principal has an object, and answers the reference that stands for the
   * principal.
   */
  readonly addSigner: (principal: string) => Promise<McpSigner>
  readonly removeSigner: (principal: string) => Promise<void>
  readonly signers: () => Promise<readonly McpSigner[]>
  /** Seals the sign-in's tokens anew, under today's key. */
  readonly reseal: () => Promise<ObjectReply<McpResealed>>
  /** Ends the server's session of a session tree that is over. */
  readonly endSession: (rootSession: string) => Promise<void>
  /** Ends the sessions at the server, drops the connection and deletes the stored data, tokens too. */
  readonly forget: () => Promise<void>
}

/** An item of the server, compared with its approval. */
export interface McpDifference {
  readonly kind: McpItemKind
  readonly key: string
  readonly tool?: string
  readonly state: 'new' | 'changed' | 'same' | 'gone'
  /** The lines that differ; each begins with `+`, `-` or a blank. */
  readonly lines: readonly string[]
}
