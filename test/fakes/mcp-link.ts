import { createHash } from 'node:crypto'
import type { JsonObject } from '../../src/contracts/json.ts'
import {
  mcpServerSchema,
  type McpCall,
  type McpCaller,
  type McpItem,
  type McpServerConfig,
} from '../../src/runtime/catalog/types/mcp.ts'
import { createSchemaValidator } from '../../src/runtime/catalog/schema-validator.ts'
import { createServerLink, type LinkDeps } from '../../src/features/mcp-servers/server-link.ts'
import { createReplyRedactor } from '../../src/features/plugins/secrets/reply-redactor.ts'
import { systemSources } from '../../src/compose/sources.ts'
import { createFakeMcp } from './mcp-server.ts'
import { outboundOver } from './outbound.ts'

const nobody: McpCaller['asked'] = async () => ({ state: 'refused', why: 'Nobody is there.' })

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The link of one server over a memory that outlives it, and a server made by hand at the other end. */
export function createLinkWorld(
  server: Pick<ReturnType<typeof createFakeMcp>, 'url' | 'answer'>,
  deps: Partial<LinkDeps> = {},
  about: Partial<McpServerConfig> = {},
) {
  const kept = new Map<string, string>()
  const store = {
    get: (key: string): unknown => {
      const text = kept.get(key)
      return text === undefined ? undefined : JSON.parse(text)
    },
    put: (key: string, value: unknown) => void kept.set(key, JSON.stringify(value)),
    delete: (key: string) => void kept.delete(key),
  }
  const asked: string[] = []
  const quarantined: JsonObject[] = []
  const config = mcpServerSchema.parse({ id: 'srv', url: server.url, timeoutMs: 2_000, ...about })
  const open = () =>
    createServerLink(store, {
      ...systemSources,
      ...outboundOver(async (url, init) => {
        asked.push(url)
        init.signal?.throwIfAborted()
        const request = new Request(url, init)
        const gone = new Promise<never>((_resolve, reject) =>
          request.signal.addEventListener('abort', () =>
            reject(new DOMException('aborted', 'AbortError')),
          ),
        )
        return Promise.race([server.answer(request), gone])
      }),
      readSecrets: async () => new Map(),
      validator: createSchemaValidator(),
      version: '1',
      redactorOf: (values) => createReplyRedactor(values).text,
      onQuarantined: (what) => void quarantined.push(what),
      ...deps,
    })
  let link = open()
  let count = 0
  const callOf = (item: McpItem, ask: McpCall['ask'], timeoutMs = 2_000): McpCall => ({
    callId: `call ${(count += 1)}`,
    config,
    epoch: 1,
    item,
    ask,
    idempotencyKey: 'key',
    traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    timeoutMs,
  })
  return {
    config,
    asked,
    quarantined,
    look: () => link.look(config),
    /** The object is gone, and what it kept is not. */
    sleep: () => {
      link = open()
    },
    itemOf: async (key: string): Promise<McpItem> => {
      const found = (await link.look(config)).items.find((item) => item.key === key)
      if (!found) throw new Error(`no ${key}`)
      return found
    },
    callOf,
    call: (call: McpCall, caller: Partial<McpCaller> = {}) =>
      link.call(call, { tell: () => {}, asked: nobody, ...caller }),
    callTool: (item: McpItem, input: JsonObject = {}, timeoutMs?: number) =>
      link.call(callOf(item, { do: 'tool', input }, timeoutMs), { tell: () => {}, asked: nobody }),
    cancel: (callId: string) => link.cancel(callId),
    /** One call of a session tree. */
    callIn: (rootSession: string, item: McpItem, input: JsonObject = {}) =>
      link.call(
        { ...callOf(item, { do: 'tool', input }), rootSession },
        { tell: () => {}, asked: nobody },
      ),
    endSession: (rootSession: string) => link.endSession(rootSession),
    forget: () => link.forget(),
  }
}
