import { expect, it } from 'vitest'
import { mcpServerSchema, type McpServerRow } from '../../../src/runtime/catalog/types/mcp.ts'
import type { McpAdministration } from '../../../src/runtime/catalog/types/part-kind.ts'
import { createFakeApp } from '../../fakes/http-deps.ts'

const path = '/api/operator/mcp'
const asked = {
  id: 'weather',
  url: 'https://w.example.com/mcp',
  headers: { Authorization: 'Bearer ${secret:W_TOKEN}', 'X-Key': '${secret:W_KEY}', 'X-Team': 'b' },
}

/** One server, as it was added. */
function createWorld() {
  const looks: string[] = []
  const row: McpServerRow = {
    id: 'weather',
    config: mcpServerSchema.parse(asked),
    state: 'added',
    confirmed: [],
    epoch: 1,
    addedBy: 'operator',
    addedAtMs: 0,
  }
  const show = async () => ({
    ...row,
    login: 'none' as const,
    differences: [],
    asking: [],
    harmless: [],
    closed: [],
  })
  const mcp: Partial<McpAdministration> = {
    list: async () => [row],
    show,
    look: async (id) => {
      looks.push(id)
      return show()
    },
    change: async () => ({ generation: 1, notes: ['from the change'] }),
  }
  // As much of it as these routes take.
  const { send } = createFakeApp({ deps: { mcp: mcp as McpAdministration } })
  const ask = async (to: string, json?: object) =>
    (await send(to, { ...(json && { json }) })).json()
  const set = (name: string) => ask('/api/operator/secrets', { name, value: 'a-value-of-it' })
  return { looks, ask, set }
}

it('adding a server notes each secret that it is opened with and that is not set', async () => {
  const { ask, set } = createWorld()
  await set('W_TOKEN')
  const key = 'The secret W_KEY is not set; set it: isola secret set W_KEY'
  expect(await ask(path, asked)).toEqual({ generation: 1, notes: ['from the change', key] })
  await set('W_KEY')
  expect(await ask(path, asked)).toEqual({ generation: 1, notes: ['from the change'] })
})

it('a server is not asked while a secret that opens it is not set, and its view says which', async () => {
  const { looks, ask, set } = createWorld()
  const missingSecrets = ['W_TOKEN', 'W_KEY']
  expect(await ask(`${path}/weather`)).toMatchObject({ id: 'weather', missingSecrets })
  expect(await ask(`${path}/weather/look`, {})).toMatchObject({
    missingSecrets,
    problem: expect.stringMatching(/W_TOKEN.*W_KEY/),
  })
  expect(looks).toEqual([])
  for (const name of missingSecrets) await set(name)
  const seen = await ask(`${path}/weather/look`, {})
  expect(seen).toMatchObject({ missingSecrets: [] })
  expect(seen).not.toHaveProperty('problem')
  expect(looks).toEqual(['weather'])
})
