import { exposureSchema } from '../../src/runtime/catalog/types/generation.ts'
import type { Json } from '../../src/contracts/json.ts'
import type { Offers } from '../../src/contracts/manifest/manifest-offers.ts'
import type { ListedTool } from '#runtime/catalog/types/plugin-catalog.ts'
import { createFakeApp, resultOf, type FakeOptions } from './http-deps.ts'

export interface McpWorld extends FakeOptions {
  readonly exposed?: object
  readonly offers?: Offers
  readonly tools?: readonly ListedTool[]
}

/** A run that made one call, without a model. */
export const directResult = (output: Json) =>
  resultOf({
    result: 'The call was made.',
    actions: [{ callId: 'call_1', tool: 'kv__get', ok: true, durationMs: 1 }],
    output: { ok: true, call: 'call_1', output },
  })

/** The app with something to offer, spoken to as a client of 2025 does. */
export function createMcpApp(world: McpWorld = {}) {
  const { exposed = {}, offers = { resources: [], prompts: [] }, tools = [], ...options } = world
  const choice = { generation: 1, exposed: exposureSchema.parse(exposed) }
  const descriptor = { name: 'orchestrator', description: 'All.', integrationMode: 'tool' as const }
  const fake = createFakeApp({
    ...options,
    deps: {
      agents: {
        load: async () => undefined,
        list: () => [descriptor],
        tools: async () => tools,
        toolNames: async () => tools.map(({ name }) => name),
        offers: async () => offers,
        promptUnder: async () => {
          throw new Error('nobody asks')
        },
      },
      plugins: {
        list: async () => [],
        show: async () => undefined,
        failed: async () => [],
        generations: async () => [],
        policy: async () => {
          throw new Error('nobody asks')
        },
        exposed: async () => choice,
        change: async () => ({ generation: 1, notes: [] }),
      },
      ...options.deps,
    },
  })
  /** The answer to one request: a JSON-RPC message, whichever way it came. */
  const ask = async (method: string, params: object = {}, headers: Record<string, string> = {}) => {
    const accept = 'application/json, text/event-stream'
    const json = { jsonrpc: '2.0', id: 1, method, params }
    const response = await fake.send('http://localhost/mcp', {
      json,
      headers: { accept, ...headers },
    })
    const text = await response.text()
    const line = text.split('\n').findLast((one) => one.startsWith('data: '))
    // oxlint-disable-next-line typescript/no-explicit-any -- what is in it is what a test names
    return JSON.parse(line ? line.slice(6) : text) as any
  }
  return { ...fake, ask }
}
