import { invalidParams } from './older-clients.ts'
import {
  createRequestStateCodec,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type RequestStateCodec,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { McpDeps } from './deps.ts'
import { callOffered } from './call.ts'
import type { CallState, McpRequest } from './mcp-call.ts'
import type { McpClient } from './caller.ts'
import { offeredTools } from './offered.ts'
import type { OfferedTool } from './offered.ts'
import { toThrownFailure } from './outcome.ts'
import { complete, getPrompt, listPrompts } from './prompts.ts'
import { isReadable, listResources, listTemplates, readResource } from './resources.ts'
import { getSkill, listSkills, readSkillFolder, skillParams, skillsExtension } from './skills.ts'

/** How long a client may cache a list: short, since operators change it. Every list is the caller's own. */
const listed = { ttlMs: 10_000, cacheScope: 'private' } as const
const cacheHints = {
  'tools/list': listed,
  'prompts/list': listed,
  'resources/list': listed,
  'resources/templates/list': listed,
  'resources/read': { ttlMs: 0, cacheScope: 'private' },
} as const

/** The caller that a server object answers, and the receiver of bugs. */
export interface ServerOptions {
  readonly deps: McpDeps
  readonly caller: McpClient
  readonly onFault: (error: unknown) => void
}

/** The server for one request of one caller; it stores nothing. */
export function createServer(given: ServerOptions): McpServer {
  const options = { ...given, states: createStates(given) }
  const mcp = new OfferingServer(options)
  mcp.server.registerCapabilities({
    tools: {},
    resources: {},
    prompts: {},
    completions: {},
    logging: {},
    extensions: { [skillsExtension]: { directoryRead: true } },
  })
  addTools(mcp, options)
  addResources(mcp, options)
  addSubscriptions(mcp, options)
  addPrompts(mcp, options)
  addSkills(mcp, options)
  return mcp
}

interface Options extends ServerOptions {
  readonly states: RequestStateCodec<CallState> | undefined
}

/** So long may a client take to come back with an answer. */
const stateSeconds = 86_400

/** Seals what a client carries from one request of a call to the next: it is this caller's, and of this method. */
const createStates = ({ deps, caller }: ServerOptions): RequestStateCodec<CallState> | undefined =>
  deps.stateKey === undefined
    ? undefined
    : createRequestStateCodec<CallState>({
        key: deps.stateKey,
        ttlSeconds: stateSeconds,
        bind: ({ mcpReq }) => JSON.stringify([caller.principal, mcpReq.method]),
      })

type Verify = NonNullable<Options['states']>['verify']

/** Without a key nothing was ever sealed. */
const noState = () => Promise.reject(new Error('There is no key for states.'))

/** The handler looks for header parameters (`x-mcp-header`) in the schema of what is called. */
class OfferingServer extends McpServer {
  readonly offered: readonly OfferedTool[]

  constructor({ deps, caller, states }: Options) {
    const about = { name: 'isola', title: 'Isola', version: deps.version }
    const verify: Verify = (state, context) => (states ? states.verify(state, context) : noState())
    super(about, { cacheHints, requestState: { verify } })
    this.offered = offeredTools(caller.inventory)
  }

  override toolInputSchemaJson(name: string): Record<string, unknown> | undefined {
    return this.offered.find((tool) => tool.name === name)?.inputSchema
  }
}

function addTools({ server, offered }: OfferingServer, options: Options): void {
  server.setRequestHandler(
    'tools/list',
    onePage(() => ({ tools: offered.map(toWireTool) })),
  )
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = offered.find(({ name }) => name === params.name)
    if (!tool) throw invalidParams('There is no such tool.')
    const input = (params.arguments ?? {}) as JsonObject // it came as JSON
    return callOffered(toCall(options, context, params), tool, input).catch((error: unknown) => {
      if (error instanceof ProtocolError) throw error
      return toThrownFailure(error, options.onFault)
    })
  })
}

/** A list in one page: no cursor is valid. */
function onePage<T>(list: () => T) {
  return ({
    params,
  }: {
    readonly params?: { readonly cursor?: string | undefined } | undefined
  }) => {
    if (params?.cursor === undefined) return list()
    throw invalidParams('cursor: must be the one of a page.')
  }
}

function addResources({ server }: OfferingServer, options: Options): void {
  const { caller } = options
  server.setRequestHandler('resources/list', ({ params }, context) =>
    answer(options, context, { params, work: (call) => listResources(call, params?.cursor) }),
  )
  server.setRequestHandler(
    'resources/templates/list',
    onePage(() => listTemplates(caller)),
  )
  server.setRequestHandler('resources/read', ({ params }, context) =>
    answer(options, context, { params, work: (call) => readResource(call, params.uri) }),
  )
}

/**
 * A client of 2025 may subscribe to changes. There is no stream to report them on, and `subscribe` is not among the
 * capabilities: the client reads again when it wants to know.
 */
function addSubscriptions({ server }: OfferingServer, options: Options): void {
  for (const method of ['resources/subscribe', 'resources/unsubscribe'] as const) {
    server.setRequestHandler(method, ({ params }) => {
      if (isReadable(options.caller.inventory, params.uri)) return {}
      throw new ResourceNotFoundError(params.uri)
    })
  }
}

function addPrompts({ server }: OfferingServer, options: Options): void {
  const { caller } = options
  server.setRequestHandler('prompts/list', ({ params }, context) => {
    const work = (call: McpRequest) => onePage(() => listPrompts(call))({ params })
    return answer(options, context, { params, work })
  })
  server.setRequestHandler('prompts/get', ({ params }, context) => {
    const { name, arguments: given = {} } = params
    return answer(options, context, { params, work: (call) => getPrompt(call, name, given) })
  })
  server.setRequestHandler('completion/complete', ({ params: { ref, argument } }) =>
    complete(caller, ref.type === 'ref/prompt' ? ref.name : '', argument),
  )
}

/** The methods of SEP-2640, which the library does not know: the same for clients of both eras. */
function addSkills({ server }: OfferingServer, options: Options): void {
  server.setRequestHandler('skills/list', { params: skillParams }, (params, context) => {
    const work = async (call: McpRequest) => ({ ...(await listSkills(call)), ...listed })
    return answer(options, context, {
      params,
      work: (call) => onePage(() => work(call))({ params }),
    })
  })
  server.setRequestHandler('skills/get', { params: skillParams }, (params, context) => {
    const work = async (call: McpRequest) => ({ ...(await getSkill(call, params.uri)), ...listed })
    return answer(options, context, { params, work })
  })
  server.setRequestHandler(
    'resources/directory/read',
    { params: skillParams },
    (params, context) => {
      const work = (call: McpRequest) =>
        onePage(() => readSkillFolder(call, params.uri))({ params })
      return answer(options, context, { params, work })
    },
  )
}

/** One request on its way: `params` is what is called, without what comes beside it. */
function toCall(
  { deps, caller, states }: Options,
  context: ServerContext,
  params: object,
): McpRequest {
  const { _meta, ...asked } = params as { readonly _meta?: unknown }
  return { deps, caller, context, states, about: deps.sources.sha256(JSON.stringify(asked)) }
}

/** A failure with our code goes out in the protocol's form; any other error is a bug, whose text stays inside. */
async function answer<T>(
  options: Options,
  context: ServerContext,
  asked: { readonly params?: object | undefined; readonly work: (call: McpRequest) => Promise<T> },
): Promise<T> {
  try {
    return await asked.work(toCall(options, context, asked.params ?? {}))
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    const code = errorCode(error)
    if (code === undefined) options.onFault(error)
    const message = code ? `${code}: ${errorMessage(error)}` : 'Something went wrong on our side.'
    throw new ProtocolError(ProtocolErrorCode.InternalError, message)
  }
}

function toWireTool({ name, description, inputSchema, outputSchema, annotations }: OfferedTool) {
  return {
    name,
    description,
    inputSchema: inputSchema as Tool['inputSchema'], // an object schema: the catalog takes no other
    ...(outputSchema && { outputSchema: outputSchema as Tool['inputSchema'] }),
    annotations,
  }
}
