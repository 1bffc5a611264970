export interface FakeTool {
  readonly name: string
  readonly description?: string
  readonly inputSchema?: object
  readonly outputSchema?: object
  readonly annotations?: object
}

/** A request of ours, as the server saw it. */
export interface SeenRequest {
  readonly url: string
  readonly http: string
  /** Of the JSON-RPC request. */
  readonly id?: unknown
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly headers: Headers
}

type Handle = (params: Readonly<Record<string, unknown>>, seen: SeenRequest) => unknown

export interface FakeMcpOptions {
  readonly url?: string
  readonly era?: 'modern' | 'legacy'
  readonly tools?: readonly FakeTool[]
  readonly more?: Readonly<Record<string, Handle>>
  readonly instructions?: string
}

/** A handler throws it to answer with a JSON-RPC error; any other error fails the HTTP request. */
export class RpcError extends Error {}

const says: FakeTool = {
  name: 'say',
  description: 'Says what it is given.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
}

/** A remote MCP server by hand, of today's protocol or of the one before: what it says is the test's. */
export function createFakeMcp(options: FakeMcpOptions = {}) {
  const { url = 'https://mcp.example.com/mcp', era = 'modern' } = options
  const state = {
    tools: options.tools ?? [says],
    instructions: options.instructions,
    session: 'one',
    isDown: false,
    /** The client's answers to this server's requests. */
    said: [] as { readonly id: unknown; readonly result?: unknown; readonly error?: unknown }[],
    onSaid: () => {},
  }
  const seen: SeenRequest[] = []
  const wrap = (result: object) =>
    era === 'modern' ? { resultType: 'complete', ...result } : result
  const listed = (result: object) =>
    wrap({ ...result, ...(era === 'modern' && { ttlMs: 0, cacheScope: 'private' }) })
  const about = () => (state.instructions === undefined ? {} : { instructions: state.instructions })
  const capabilities = { tools: { listChanged: true }, resources: {}, prompts: {} }
  const serverInfo = { name: 'fake', version: '1' }
  const handlers: Record<string, Handle> = {
    'server/discover': () =>
      listed({
        supportedVersions: ['2026-07-28'],
        capabilities,
        ...about(),
        _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
      }),
    initialize: () => ({ protocolVersion: '2025-11-25', capabilities, serverInfo, ...about() }),
    'tools/list': () =>
      listed({ tools: state.tools.map((tool) => ({ inputSchema: { type: 'object' }, ...tool })) }),
    'resources/list': () => listed({ resources: [] }),
    'resources/templates/list': () => listed({ resourceTemplates: [] }),
    'prompts/list': () => listed({ prompts: [] }),
    'tools/call': ({ name, arguments: input }) =>
      wrap({ content: [{ type: 'text', text: `${String(name)} ${JSON.stringify(input)}` }] }),
    ...options.more,
  }
  const answer = async (request: Request): Promise<Response> => {
    if (state.isDown) throw new TypeError('connection refused')
    const message = request.method === 'POST' ? JSON.parse(await request.text()) : {}
    const { method, params = {}, id } = message
    const { url: asked, headers } = request
    const one = { url: asked, http: request.method, id, method, params, headers }
    seen.push(one)
    if (request.url !== url) return new Response(null, { status: 404 })
    if (request.method === 'DELETE') return new Response(null, { status: 200 })
    if (request.method !== 'POST') return new Response(null, { status: 405 })
    if (id === undefined) return new Response(null, { status: 202 })
    if (method === undefined) {
      state.said.push(message)
      state.onSaid()
      return new Response(null, { status: 202 })
    }
    const isSessionless = era === 'modern' || method === 'initialize'
    if (!isSessionless && request.headers.get('mcp-session-id') !== state.session)
      return new Response(null, { status: method === 'server/discover' ? 400 : 404 })
    const handle = era === 'legacy' && method === 'server/discover' ? undefined : handlers[method]
    if (!handle)
      return Response.json({
        jsonrpc: '2.0',
        id,
        error: { code: -32601, message: 'no such method' },
      })
    try {
      const result = await handle(params, one)
      if (result instanceof Response) return result
      const headers = method === 'initialize' ? { 'mcp-session-id': state.session } : {}
      return Response.json({ jsonrpc: '2.0', id, result }, { headers })
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      return Response.json({ jsonrpc: '2.0', id, error: { code: -32000, message: error.message } })
    }
  }
  return {
    url,
    state,
    seen,
    answer,
    /** Methods that were asked, in order. */
    methods: () => seen.map(({ method, http }) => method ?? http),
  }
}
