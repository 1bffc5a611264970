import { createHash } from 'node:crypto'
import { strFromU8, unzipSync } from 'fflate'
import { describe, expect, it } from 'vitest'
import type { Answer } from '../../fakes/client.ts'
import { IsolaError } from '#contracts/errors.ts'
import { createMcpApp } from '../../fakes/mcp-app.ts'
import { shelfOf, skillSource } from '../../fakes/skills.ts'

const skills = [
  skillSource('open', 'For anybody.'),
  skillSource('packed', 'For anybody, with files.', { files: { 'references/a.md': 'A.' } }),
  skillSource('ours', 'For those with a key.'),
  skillSource('teacher', 'Speaks slowly.', { kind: 'persona' }),
]
const exposed = { skills: ['ours'], public_skills: ['packed', 'open', 'teacher', 'gone'] }
const base = 'http://isola.test/.well-known/agent-skills'
const build = (choice: object = exposed, deps: object = {}) =>
  createMcpApp({ exposed: choice, deps: { skills: shelfOf(skills), ...deps } }).app

const jsonOf = (response: Response): Promise<Answer> => response.json()

/** A client by the steps of Agent Skills Discovery: the index, then each artifact, which has to be what the index says. */
async function install(app: ReturnType<typeof build>) {
  const index = await jsonOf(await app.request(`${base}/index.json`))
  const installed: Record<string, Record<string, string>> = {}
  for (const { name, type, url, digest } of index.skills) {
    const response = await app.request(new URL(url, `${base}/index.json`).href)
    const bytes = new Uint8Array(await response.arrayBuffer())
    expect(`sha256:${createHash('sha256').update(bytes).digest('hex')}`).toBe(digest)
    const files = type === 'archive' ? unzipSync(bytes) : { 'SKILL.md': bytes }
    installed[name] = Object.fromEntries(
      Object.entries(files).map(([path, one]) => [path, strFromU8(one)]),
    )
  }
  return installed
}

describe('P19: /.well-known/agent-skills', () => {
  it('hands out public skills that an operator named, without a key, to the byte', async () => {
    const [open, packed] = skills
    expect(await install(build())).toEqual({ open: open!.files, packed: packed!.files })
  })

  it('T27: is limited by network, and still as if it were not there while nothing is public', async () => {
    const asked: unknown[] = []
    const limits = {
      visitor: async (client: unknown) => {
        asked.push(client)
        if (asked.length > 2) throw new IsolaError('request_rate_limited', 'Try again later.')
      },
    }
    const open = build(exposed, { limits })
    const get = (app: typeof open, path: string) =>
      app.request(`${base}/${path}`, { headers: { 'cf-connecting-ip': '192.0.2.1' } })
    const paths = ['index.json', 'open/SKILL.md', 'packed.zip']
    const states = []
    for (const path of paths) states.push((await get(open, path)).status)
    expect(states).toEqual([200, 200, 429])
    expect(asked).toEqual(paths.map(() => expect.objectContaining({ address: '192.0.2.1' })))
    const closed = build({ skills: [], public_skills: [] }, { limits })
    for (const path of paths) expect((await get(closed, path)).status).toBe(404)
  })

  it('is an index by version 0.2.0', async () => {
    const response = await build().request(`${base}/index.json`)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    const { $schema, skills: entries } = await jsonOf(response)
    expect($schema).toBe('https://schemas.agentskills.io/discovery/0.2.0/schema.json')
    expect(entries[1]).toEqual({
      name: 'packed',
      type: 'archive',
      description: 'For anybody, with files.',
      url: '/.well-known/agent-skills/packed.zip',
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string,
    })
  })

  it.each([
    ['open/SKILL.md', 'text/markdown; charset=utf-8'],
    ['packed.zip', 'application/zip'],
    ['index.json', 'application/json'],
  ])('says of %s what it is, and answers 304 to who has it', async (path, type) => {
    const app = build()
    const response = await app.request(`${base}/${path}`)
    expect(response.headers.get('content-type')).toBe(type)
    expect(response.headers.get('cache-control')).toBe('public, max-age=300')
    const etag = response.headers.get('etag')!
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const again = await app.request(`${base}/${path}`, { headers: { 'if-none-match': known } })
      expect([again.status, await again.text()]).toEqual([304, ''])
    }
    const other = await app.request(`${base}/${path}`, { headers: { 'if-none-match': '"other"' } })
    expect(other.status).toBe(200)
    expect((await app.request(`${base}/${path}`, { method: 'HEAD' })).status).toBe(200)
  })

  it.each([
    'ours/SKILL.md',
    'teacher/SKILL.md',
    'gone/SKILL.md',
    'open.zip',
    'packed/SKILL.md',
    'packed/references/a.md',
    'open/../ours/SKILL.md',
    'open%2FSKILL.md/..',
    'toString/SKILL.md',
    'other',
  ])('I26: has nothing else: %s is as if there were no such route', async (path) => {
    const app = build()
    const [answer, unknown] = await Promise.all(
      [`${base}/${path}`, 'http://isola.test/.well-known/other'].map(async (url) =>
        app.request(url),
      ),
    )
    expect(answer!.status).toBe(404)
    const { request_id: _, ...told } = (await jsonOf(answer!)).error
    const { request_id: __, ...same } = (await jsonOf(unknown!)).error
    expect(told).toEqual(same)
  })

  it('I26: is not there before an operator has said so, also for skills that keys are offered', async () => {
    for (const choice of [{}, { skills: ['open', 'packed'] }]) {
      const app = build(choice)
      for (const path of ['index.json', 'open/SKILL.md', 'packed.zip'])
        expect((await app.request(`${base}/${path}`)).status).toBe(404)
    }
  })

  it('shows what has changed: of the choice at once, of a skill within a minute', async () => {
    let generation = 1
    let names = ['open']
    let all = skills
    const shelf = { ...shelfOf([]), outgoing: (of: readonly string[]) => shelfOf(all).outgoing(of) }
    const choice = () => ({ ...exposed, public_skills: names })
    const plugins = { exposed: async () => ({ generation, exposed: choice() }) }
    const { app, tick } = createMcpApp({ deps: { skills: shelf, plugins } as never })
    const index = async () => (await jsonOf(await app.request(`${base}/index.json`))).skills
    const [before] = await index()
    all = [skillSource('open', 'Is another now.')]
    expect(await index()).toEqual([before])
    tick(60_000)
    expect(await index()).toMatchObject([{ description: 'Is another now.' }])
    generation = 2
    names = ['packed']
    all = skills
    expect(await index()).toMatchObject([{ name: 'packed' }])
  })

  it('waits for the tables, and says so', async () => {
    const readiness = async () => ({ state: 'not_migrated' as const, message: 'Migrate first.' })
    const response = await build(exposed, { readiness }).request(`${base}/index.json`)
    expect(response.status).toBe(503)
    expect((await jsonOf(response)).error.message).toBe('Migrate first.')
  })
})
