import { afterAll, beforeAll, expect, it } from 'vitest'
import document from '../../docs/openapi.json'
import { bundledPlugins } from '../../src/bundled.gen.ts'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { addPlugin, enablePlugin } from '../fakes/plugin-admin.ts'
import { installUpstream, type UpstreamRequest } from '../fakes/upstream.ts'

type By = { readonly headers: Record<string, string> }
type Call = { readonly name: string; readonly input: object }

/** The queries by which another principal could read a scope; or the reason to leave a route out. Writes are refused by scope elsewhere. */
const routes: Readonly<Record<string, readonly string[] | { readonly not: string }>> = {
  'GET /api/memory': ['', '?query=quince'],
  'GET /api/memory/{note}': ['/{id}', '/{id}?scope=deployment'],
  'GET /api/knowledge': [''],
  'GET /api/knowledge/search': ['/search?query=quince'],
  'GET /api/knowledge/{document}': ['/{id}', '/{id}?scope=deployment'],
  'GET /api/operator/memory/{principal}': { not: 'how much, never what' },
}
const tools: Readonly<Record<string, readonly object[] | { readonly not: string }>> = {
  memory__recall: [
    { scope: 'all', query: 'quince' },
    { scope: 'all', limit: 50 },
  ],
  knowledge__search: [{ query: 'quince', limit: 10 }],
  memory__note: { not: 'writes' },
  memory__clear: { not: 'writes' },
  memory__remember: { not: 'writes' },
  memory__forget: { not: 'writes' },
}

const principals = ['ida', 'jon']
const agents = ['clerk', 'scribe']
let upstream: ReturnType<typeof installUpstream>
let wanted: Call | undefined
const keys = new Map<string, By>()
const ids = new Map<string, string[]>()

const put = async (by: object, whose: string, more: object): Promise<void> => {
  const text = `quince of ${whose}.`
  const { added } = await callJson('/api/memory', { ...by, json: { ...more, notes: [{ text }] } })
  const json = { ...more, name: `quince-${whose}.md`, text, type: 'markdown' }
  const { document: one } = await callJson('/api/knowledge', { ...by, json })
  ids.set(whose, [added[0].id, one.id])
}
beforeAll(async () => {
  upstream = installUpstream(({ messages }: UpstreamRequest) => {
    const answer = messages.findLast(({ role }) => role === 'tool')
    return answer || !wanted ? { text: String(answer?.content) } : { calls: [wanted] }
  })
  for (const id of agents) {
    const agent = { integration_mode: 'tool', model: 'default', instructions: 'prompt.md' }
    const manifest = { id, name: id, version: '1.0.0', description: 'Looks things up.' }
    await addPlugin({
      manifest: { ...manifest, agent: { ...agent, uses_tools: ['memory', 'knowledge'] } },
      files: { 'prompt.md': 'Look it up.' },
    })
    await enablePlugin(id)
  }
  for (const principal of principals) {
    const { key } = await callJson('/api/operator/keys', { json: { principal, role: 'user' } })
    const by = { headers: { authorization: `Bearer ${key}` } }
    keys.set(principal, by)
    await put(by, principal, {})
    for (const agent of agents) await put(by, `${principal}/${agent}`, { scope: 'agent', agent })
  }
  await put({}, 'everybody', { scope: 'deployment' })
})
afterAll(() => upstream.restore())

/** Whose notes and documents an answer has. */
const whoseIn = (text: string): readonly string[] =>
  [...new Set([...text.matchAll(/quince of ([\w/]+)\./g)].map(([, whose]) => whose!))].toSorted()
const wordsIn = async (response: Response) => whoseIn(await response.text())

it('I28, P29: a route or tool that reads notes or documents is in the list, each new one too', () => {
  const reading = Object.entries(document.paths).flatMap(([path, methods]) =>
    /\/(memory|knowledge)(\/|$)/.test(path) && 'get' in methods ? [`GET ${path}`] : [],
  )
  expect(Object.keys(routes).toSorted()).toEqual(reading.toSorted())
  const manifests = bundledPlugins.map(({ manifest }) => manifest as Answer)
  const { contributes } = manifests.find(({ id }) => id === 'memory')!
  const own: readonly string[] = contributes.tools.map(
    ({ name }: { name: string }) => `memory__${name}`,
  )
  expect(Object.keys(tools).toSorted()).toEqual([...own, 'knowledge__search'].toSorted())
})

it('I28, P29: over every route nothing of one principal, agent or scope is found in another', async () => {
  for (const [principal, by] of keys) {
    const own = [principal, ...agents.map((agent) => `${principal}/${agent}`)]
    const scopes = [
      { query: {}, of: own },
      { query: { scope: 'principal' }, of: [principal] },
      { query: { scope: 'agent' }, of: own.slice(1) },
      ...agents.map((agent) => ({ query: { agent }, of: [`${principal}/${agent}`] })),
      { query: { scope: 'deployment' }, of: ['everybody'] },
    ]
    for (const [route, ways] of Object.entries(routes)) {
      if ('not' in ways) continue
      const at = route.replace(/^GET /, '').replace(/\/(search|\{\w+\})$/, '')
      for (const way of ways) {
        if (!way.includes('{id}')) {
          for (const { query, of } of scopes) {
            const more = new URLSearchParams(query as Record<string, string>).toString()
            const response = await call(`${at}${way}${way.includes('?') ? '&' : '?'}${more}`, by)
            const found = await response.text()
            const isList = route === 'GET /api/knowledge'
            const seen = isList
              ? [...found.matchAll(/quince-([\w/]+)\.md/g)].map(([, whose]) => whose!).toSorted()
              : whoseIn(found)
            expect([way, query, seen]).toEqual([way, query, of.toSorted()])
          }
          continue
        }
        const isShared = way.includes('deployment')
        for (const [whose, [note, doc]] of ids) {
          const id = at.endsWith('memory') ? note : doc
          const seen = await wordsIn(await call(`${at}${way.replace('{id}', id!)}`, by))
          const isSeen = isShared ? whose === 'everybody' : own.includes(whose)
          expect([route, whose, seen]).toEqual([route, whose, isSeen ? [whose] : []])
        }
      }
    }
  }
})

it('I28, P29: with every tool an agent finds its principal’s, its own and the deployment’s, and nothing else', async () => {
  for (const [principal, by] of keys)
    for (const agent of agents)
      for (const [name, inputs] of Object.entries(tools)) {
        if ('not' in inputs) continue
        for (const input of inputs) {
          wanted = { name, input }
          const { id } = await callJson('/api/sessions', { ...by, json: { agent } })
          const json = { task: 'go', wait: true }
          const run: Answer = await callJson(`/api/sessions/${id}/runs`, { ...by, json })
          const of = [principal, `${principal}/${agent}`, 'everybody'].toSorted()
          expect([name, whoseIn(run.result.result)]).toEqual([name, of])
        }
      }
})
