import { abortAllDurableObjects, listDurableObjectIds, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { labelFrom, saidLabel } from '#contracts/label.ts'
import type { MemoryApi } from '../../src/features/memory/types.ts'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { sha256 } from '../fakes/kernel.ts'
import { addPlugin, enablePlugin } from '../fakes/plugin-admin.ts'
import { installUpstream, type UpstreamRequest } from '../fakes/upstream.ts'

type Call = { readonly name: string; readonly input: object }
let upstream: ReturnType<typeof installUpstream>
let calls: readonly Call[] = []

/** A model that makes these calls at once, and says what the last one answered. */
const obeys = ({ messages }: UpstreamRequest) => {
  const answers = messages
    .slice(messages.findLastIndex(({ role }) => role === 'user'))
    .filter(({ role }) => role === 'tool')
  const next = calls.slice(answers.length, answers.length === 0 ? 30 : undefined)
  return next.length > 0 ? { calls: next } : { text: String(answers.at(-1)?.content ?? 'nothing') }
}
beforeEach(() => {
  upstream = installUpstream(obeys)
})
afterEach(() => upstream.restore())

const keyOf = async (principal: string): Promise<object> => {
  const { key } = await callJson('/api/operator/keys', { json: { principal, role: 'user' } })
  return { headers: { authorization: `Bearer ${key}` } }
}
const plugin = (id: string) => ({
  manifest: {
    id,
    name: id,
    version: '1.0.0',
    description: 'Remembers things.',
    agent: {
      integration_mode: 'tool',
      model: 'default',
      instructions: 'prompt.md',
      uses_tools: ['memory'],
    },
  },
  files: { 'prompt.md': 'Remember.' },
})
async function withAgents(...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await addPlugin(plugin(id))
    await enablePlugin(id)
  }
}

/** One run in a session of its own: the view of it. */
async function run(by: object, agent: string, ...made: readonly Call[]): Promise<Answer> {
  const isOrchestrator = agent === 'orchestrator'
  calls = made.map(({ name, input }) =>
    isOrchestrator ? { name: 'isola__call', input: { name, input } } : { name, input },
  )
  const { id } = await callJson('/api/sessions', { ...by, json: { agent } })
  const json = { task: 'go', wait: true }
  return { ...(await callJson(`/api/sessions/${id}/runs`, { ...by, json })), session: id }
}
/** One more run in a session. */
async function goOn(by: object, session: string, task: string, ...made: readonly Call[]) {
  calls = made.map(({ name, input }) => ({ name: 'isola__call', input: { name, input } }))
  const json = { task, wait: true }
  return callJson(`/api/sessions/${session}/runs`, { ...by, json })
}
const remember = (fact: string, scope = 'principal'): Call => ({
  name: 'memory__remember',
  input: { fact, scope },
})
const recall = (query: string, scope = 'all'): Call => ({
  name: 'memory__recall',
  input: { query, scope },
})
/** The notes that were found, as the model read them. */
const notesIn = ({ result }: Answer): readonly string[] =>
  JSON.parse(result.result).notes.map(({ text }: { text: string }) => text)

const principals = env.PRINCIPAL as unknown as DurableObjectNamespace
const objectOf = (principal: string) =>
  principals.getByName(sha256(`9:principal${principal.length}:${principal}`))

describe('I21, Y31: what agents remember beyond their sessions', () => {
  it('is recalled in a later session of the same principal, and in none of another', async () => {
    const [ada, ben] = [await keyOf('ada'), await keyOf('ben')]
    const kept = await run(ada, 'orchestrator', remember('Ada grows periwinkles on her balcony'))
    expect(JSON.parse(kept.result.result)).toMatchObject({ state: 'added' })
    const later = await run(ada, 'orchestrator', recall('balcony flowers'))
    expect(notesIn(later)).toEqual(['Ada grows periwinkles on her balcony'])
    expect(notesIn(await run(ben, 'orchestrator', recall('balcony periwinkles')))).toEqual([])
    expect(notesIn(await run(ada, 'orchestrator', recall('balcony', 'agent')))).toEqual([])
    // The session's own scratchpad is as it was.
    expect(notesIn(await run(ada, 'orchestrator', recall('balcony', 'session')))).toEqual([])
  })

  it('C5: a policy that denies it decides, and nothing is kept', async () => {
    const deb = await keyOf('deb')
    const policy = (deny: readonly string[]) =>
      callJson('/api/operator/policy', { json: { policy: { deny } } })
    await policy(['memory__remember'])
    const view = await run(deb, 'orchestrator', remember('Deb is allergic to lint'))
    await policy([])
    expect(view.result.result).toContain('tool_denied')
    expect((await callJson('/api/memory', deb)).notes).toEqual([])
    await run(deb, 'orchestrator', remember('Deb is allergic to lint'))
    expect((await callJson('/api/memory', deb)).notes).toHaveLength(1)
  })

  it('C5: no secret of the deployment is remembered, by an agent or over the API', async () => {
    const fay = await keyOf('faye')
    await run(
      fay,
      'orchestrator',
      remember('The operator key is isk_test_operator_key, the other sk-test'),
    )
    await callJson('/api/memory', {
      ...fay,
      json: { notes: [{ text: 'Key: isk_test_operator_key' }] },
    })
    const { notes } = await callJson('/api/memory', fay)
    expect(notes).toHaveLength(2)
    expect(JSON.stringify(notes)).not.toContain('isk_test_operator_key')
    expect(JSON.stringify(notes)).toContain('[redacted]')
  })

  it('a note that is out of date is replaced by its id, by an agent and over the API', async () => {
    const gil = await keyOf('gil')
    const kept = await run(gil, 'orchestrator', remember('Gil lives in Bern'))
    const { remembered: replaces } = JSON.parse(kept.result.result)
    const moved = { name: 'memory__remember', input: { fact: 'Gil lives in Rome', replaces } }
    expect(JSON.parse((await run(gil, 'orchestrator', moved)).result.result)).toEqual({
      remembered: replaces,
      state: 'replaced',
    })
    expect(notesIn(await run(gil, 'orchestrator', recall('Gil lives')))).toEqual([
      'Gil lives in Rome',
    ])
    const json = { notes: [{ text: 'Gil lives in Oslo', replaces }] }
    expect(await callJson('/api/memory', { ...gil, json })).toMatchObject({
      added: [{ id: replaces, state: 'replaced' }],
    })
    const other = { notes: [{ text: 'Gil lives in Oslo', replaces: 'mem_none' }] }
    const refused = await call('/api/memory', { ...gil, json: other })
    expect(refused.status).toBe(404)
    expect(await refused.json()).toMatchObject({ error: { param: 'replaces' } })
  })

  it("an agent's own is no other agent's, nor the principal's", async () => {
    const cleo = await keyOf('cleo')
    await withAgents('scribe', 'clerk')
    await run(cleo, 'scribe', remember('The marmalade file is closed', 'agent'))
    expect(notesIn(await run(cleo, 'scribe', recall('marmalade')))).toHaveLength(1)
    expect(notesIn(await run(cleo, 'clerk', recall('marmalade')))).toEqual([])
    expect(notesIn(await run(cleo, 'orchestrator', recall('marmalade')))).toEqual([])
    expect(notesIn(await run(await keyOf('dora'), 'scribe', recall('marmalade')))).toEqual([])
  })

  it('is forgotten when a person says yes to that, and then found no more', async () => {
    const eve = await keyOf('eve')
    const { result } = await run(eve, 'orchestrator', remember('Eve collects lighthouses'))
    const { remembered } = JSON.parse(result.result)
    const forget: Call = { name: 'memory__forget', input: { ids: [remembered] } }
    const view = await run(eve, 'orchestrator', forget)
    expect(view.pauses).toMatchObject([{ kind: 'approval', tool: 'memory__forget' }])
    await callJson(`/api/sessions/${view.session}/runs/${view.id}/decisions`, {
      ...eve,
      json: { call: view.pauses[0].call, decision: 'approve' },
    })
    await vi.waitFor(
      async () =>
        expect(notesIn(await run(eve, 'orchestrator', recall('lighthouses')))).toEqual([]),
      { timeout: 60_000 },
    )
  })

  it('C6: a run may remember twenty notes, and is told so at the next', async () => {
    const fay = await keyOf('fay')
    const many = Array.from({ length: 21 }, (_, at) => remember(`Fay owns ${'x'.repeat(at + 1)}`))
    const { result } = await run(fay, 'orchestrator', ...many)
    expect(result.actions.filter(({ ok }: { ok: boolean }) => ok)).toHaveLength(20)
    expect(
      upstream.requests
        .at(-1)!
        .messages.map(({ content }) => String(content))
        .join(),
    ).toContain('A run may remember 20 notes')
  })
})

/** Rows of every table of some objects. */
async function rowsOf(space: DurableObjectNamespace): Promise<readonly string[]> {
  const all: string[] = []
  for (const id of await listDurableObjectIds(space)) {
    const rows = await runInDurableObject(space.get(id), (_object, { storage }) =>
      [...storage.sql.exec(`SELECT name FROM sqlite_master WHERE type = 'table'`)]
        .map(({ name }) => String(name))
        .filter((name) => !name.startsWith('_cf') && !name.startsWith('sqlite_'))
        .flatMap((name) =>
          [...storage.sql.exec(`SELECT * FROM "${name}"`)].map((row) => [name, row]),
        )
        .map((row) =>
          JSON.stringify(row, (_key, value: unknown) =>
            value instanceof ArrayBuffer ? new TextDecoder('latin1').decode(value) : value,
          ),
        ),
    )
    all.push(...rows)
  }
  // Reached by their ids, they do not know their names.
  await abortAllDurableObjects()
  return all
}
const everyRow = async (
  spaces: readonly unknown[] = [env.SESSION, env.PRINCIPAL],
): Promise<readonly string[]> => {
  const { results: tables } = await env.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'`,
  ).all<{ name: string }>()
  const d1: string[] = []
  for (const { name } of tables) {
    const { results } = await env.DB.prepare(`SELECT * FROM "${name}"`).all()
    d1.push(...results.map((row) => JSON.stringify([name, row])))
  }
  const objects: string[] = []
  for (const space of spaces) objects.push(...(await rowsOf(space as DurableObjectNamespace)))
  return [...d1, ...objects]
}

describe('I21, C6: streams of an agent', () => {
  const agent = {
    model: 'default',
    instructions: 'prompt.md',
    uses_tools: ['memory'],
    memory: { scope: ['agent'], streams: { findings: { max_items: 2, max_chars: 200 } } },
  }
  const note = (text: string, stream?: string): Call => ({
    name: 'memory__note',
    input: { text, ...(stream !== undefined && { stream }) },
  })
  const read = (stream?: string): Call => ({
    name: 'memory__recall',
    input: { ...(stream !== undefined && { stream }) },
  })

  it('are its session’s, bounded, beside the scratchpad: of a plugin and of one without', async () => {
    const lou = await keyOf('lou')
    const manifest = {
      ...plugin('streamer').manifest,
      agent: { integration_mode: 'tool', ...agent },
    }
    await addPlugin({ ...plugin('streamer'), manifest })
    await enablePlugin('streamer')
    await callJson('/api/agents', {
      ...lou,
      json: {
        id: 'own-streamer',
        name: 'own',
        description: 'Notes.',
        agent: {
          ...agent,
          instructions: 'Note.',
          uses_tools: ['memory__note', 'memory__recall'],
        },
      },
    })
    for (const id of ['streamer', 'own-streamer']) {
      const long = 'y'.repeat(150)
      const noted = [note('pad'), note('one', 'findings'), note('two', 'findings')]
      const few = await run(lou, id, ...noted, note('three', 'findings'), read('findings'))
      expect(notesIn(few)).toEqual(['two', 'three'])
      const longs = [note(long, 'findings'), note(long, 'findings'), read('findings')]
      expect(notesIn(await run(lou, id, ...noted, ...longs))).toEqual([long])
      expect(notesIn(await run(lou, id, ...noted, read()))).toEqual(['pad'])
      expect(notesIn(await run(lou, id, read('findings')))).toEqual([])
      const other = await run(lou, id, note('x', 'other'))
      expect(other.result.result).toContain('stream: this agent has findings.')
      const larger = await run(lou, id, note('x'.repeat(199), 'findings'))
      expect(larger.result.result).toContain('The stream findings holds 200 characters')
    }
    // What its memory does not name, its tools do not reach: also of an agent without a plugin.
    await callJson('/api/memory', { ...lou, json: { notes: [{ text: 'Lou likes dahlias' }] } })
    for (const id of ['streamer', 'own-streamer'])
      expect(notesIn(await run(lou, id, recall('dahlias')))).toEqual([])
    expect(notesIn(await run(lou, 'orchestrator', recall('dahlias')))).toHaveLength(1)
  })
})

describe('I21: forgetting a note everywhere', () => {
  it('after forget 0 hits anywhere: what recalled it, a reminder, a summary, kept outputs and the record', async () => {
    const ida = await keyOf('isolde')
    const words = ['zinnia', 'cormorant', 'velvet', 'obelisk', 'harpsichord']
    const fact = 'The zinnia cormorant keeps a velvet obelisk behind its harpsichord'
    const hits = async () =>
      (await everyRow())
        .filter((row) => words.some((word) => row.includes(word)))
        .map((row) => row.slice(0, 200))
    const kept = await run(ida, 'orchestrator', remember(fact))
    const { remembered: id } = JSON.parse(kept.result.result)
    // A conversation recalls it, keeps it in an output, a scratchpad and a file, is compacted, and goes on.
    const recalled = await run(ida, 'orchestrator', recall(''))
    const at = `/api/sessions/${recalled.session}`
    const filler = 'What else is there to say of the weather? '.repeat(400)
    for (const name of ['memory__note', 'files__write'])
      await goOn(
        ida,
        recalled.session,
        filler,
        name === 'memory__note'
          ? { name, input: { text: fact } }
          : { name, input: { path: 'a.txt', text: `${fact}\n${fact}` } },
      )
    const compacted = await callJson(`${at}/compact`, { ...ida, json: {} })
    expect(compacted.result?.state ?? compacted.state).toBe('completed')
    // An agent is reminded of it.
    await addPlugin({
      ...plugin('reminded'),
      manifest: {
        ...plugin('reminded').manifest,
        agent: { ...plugin('reminded').manifest.agent, memory: { hydrate: 'recent' } },
      },
    })
    await enablePlugin('reminded')
    await run(ida, 'reminded')
    expect(JSON.stringify(upstream.requests.at(-1)!.messages)).toContain('velvet obelisk')
    await vi.waitFor(
      async () =>
        expect(
          await env.DB.prepare(
            `SELECT count(*) AS n FROM sessions WHERE principal = 'isolde'`,
          ).first('n'),
        ).toBe(3),
      { timeout: 60_000, interval: 200 },
    )
    expect((await hits()).length).toBeGreaterThanOrEqual(6)
    const answer = await callJson(`/api/memory/${id}?everywhere=true`, { ...ida, method: 'DELETE' })
    expect(answer).toEqual({ forgotten: 1, sessions: 3 })
    expect(await hits()).toEqual([])
    // The conversation goes on.
    expect((await goOn(ida, recalled.session, 'And now?')).result.state).toBe('completed')
    expect(JSON.stringify(upstream.requests.at(-1)!.messages)).toContain('[forgotten]')
  })

  it('is for the owner: another finds no such note, and one of the deployment is refused', async () => {
    const [jan, kit] = [await keyOf('jan'), await keyOf('kit')]
    const { result } = await run(jan, 'orchestrator', remember('Jan keeps a heron'))
    const { remembered } = JSON.parse(result.result)
    const at = `/api/memory/${remembered}?everywhere=true`
    expect((await call(at, { ...kit, method: 'DELETE' })).status).toBe(404)
    expect((await call(`${at}&scope=deployment`, { method: 'DELETE' })).status).toBe(400)
    expect((await callJson('/api/memory', jan)).notes).toHaveLength(1)
  })
})

describe('I28: a remembered note is sealed', () => {
  it('no word of it is in any row of its object, nor on the record', async () => {
    const gus = await keyOf('gus')
    const words = ['xylophone', 'quagmire', 'ottoline']
    const view = await run(gus, 'orchestrator', {
      name: 'memory__remember',
      input: { fact: 'The xylophone fell into a quagmire', speaker: 'Ottoline' },
    })
    expect(view.result.state).toBe('completed')
    await vi.waitFor(
      async () => {
        const path = `/api/operator/audit?session=${view.session}&type=run_finished`
        expect((await callJson(path)).records).toHaveLength(1)
      },
      { timeout: 60_000 },
    )
    const { records } = await callJson(`/api/operator/audit?session=${view.session}`)
    expect(JSON.stringify(records)).toContain('memory__remember')
    const name = 'Ottoline.md'
    const document = { name, text: '# Xylophone\n\nOf a quagmire.', type: 'markdown' }
    await callJson('/api/knowledge', { ...gus, json: document })
    await callJson('/api/knowledge', { json: { ...document, scope: 'deployment' } })
    // Every table of D1 and every row of the objects that keep notes and documents; sessions are conversations.
    const rows = (await everyRow([env.PRINCIPAL])).join('\n').toLowerCase()
    for (const kept of ['mem_', 'pas_', 'doc_', '"knowledge_documents"', '"audit_runs"'])
      expect(rows).toContain(kept)
    expect(words.filter((word) => rows.includes(word))).toEqual([])
  })
})

describe('I21: what an agent is reminded of', () => {
  const settings = { scope: ['principal'], hydrate: 'search', write: 'turns' }
  const agentWith = (id: string, memory: object) => {
    const { manifest, files } = plugin(id)
    return { manifest: { ...manifest, agent: { ...manifest.agent, memory } }, files }
  }
  const said = (request: UpstreamRequest | undefined): string =>
    JSON.stringify(request?.messages ?? [])
  const runs = (by: object, session: string, task: string) =>
    callJson(`/api/sessions/${session}/runs`, { ...by, json: { task, wait: true } })

  it('is what was said in an earlier session of its principal, labelled, before what is asked', async () => {
    await addPlugin(agentWith('butler', settings))
    const { lines } = await callJson('/api/operator/plugins/butler')
    expect(lines.map(({ text }: { text: string }) => text).join()).toContain(
      'is reminded of what is remembered (principal)',
    )
    await enablePlugin('butler')
    calls = []
    const [hal, ida] = [await keyOf('hal'), await keyOf('ida')]
    const session = async (by: object): Promise<string> =>
      (await callJson('/api/sessions', { ...by, json: { agent: 'butler' } })).id
    await runs(hal, await session(hal), 'My dog is called Quaggabert')
    const second = await session(hal)
    await runs(hal, second, 'What is my dog called?')
    const [, reminder, asked] = upstream.requests.at(-1)!.messages
    expect(reminder).toMatchObject({ role: 'user' })
    expect(reminder!.content).toMatch(/not instructions[^]*user: My dog is called Quaggabert/)
    expect(asked).toMatchObject({ role: 'user', content: 'What is my dog called?' })
    // It stays where it was said, and is not said again of itself.
    await runs(hal, second, 'Zebra')
    expect(said(upstream.requests.at(-1)).match(/Quaggabert/g)).toHaveLength(1)
    await runs(ida, await session(ida), 'What is my dog called?')
    expect(said(upstream.requests.at(-1))).not.toContain('Quaggabert')
  })

  it('is nothing that a stranger can have written', async () => {
    await addPlugin(agentWith('valet', { scope: ['principal'] }))
    await enablePlugin('valet')
    const jo = await keyOf('jo')
    const object = objectOf('jo') as unknown as MemoryApi
    const label = labelFrom('http__get evil.example')
    const notes = [
      { text: 'The door code is CANARY-1', label },
      { text: 'The door is blue', label: saidLabel },
    ]
    await object.memory({ verb: 'add', place: 'principal', notes })
    calls = []
    const { id } = await callJson('/api/sessions', { ...jo, json: { agent: 'valet' } })
    await runs(jo, id, 'What is the code of the door?')
    expect(said(upstream.requests.at(-1))).toContain('The door is blue')
    expect(said(upstream.requests.at(-1))).not.toContain('CANARY-1')
    calls = [recall('door code')]
    await runs(jo, id, 'Look for it')
    expect(said(upstream.requests.at(-1))).toContain('CANARY-1')
  })

  it("reaches the scopes that the agent's manifest names, and keeps as many notes", async () => {
    await addPlugin(agentWith('page', { scope: ['agent'], hydrate: 'none', budget: { notes: 1 } }))
    await enablePlugin('page')
    const kay = await keyOf('kay')
    const { result } = await run(
      kay,
      'page',
      remember('One'),
      remember('Two', 'agent'),
      remember('Six', 'agent'),
    )
    expect(result.actions.map(({ ok }: { ok: boolean }) => ok)).toEqual([false, true, false])
    expect(said(upstream.requests.at(-1))).toMatch(
      /scope: this agent has agent[^]*may remember 1 notes/,
    )
  })
})

describe('C6, Y31: a remembered note, over the API', () => {
  const json = { notes: [{ text: 'Lea plays the theremin' }] }
  const search = async (by: object, query: string) =>
    (await callJson(`/api/memory?${query}`, by)).notes.map(({ text }: { text: string }) => text)

  it('is added, found, shown, changed, exported and forgotten by its principal, and by no other', async () => {
    const [lea, max] = [await keyOf('lea'), await keyOf('max')]
    const { added } = await callJson('/api/memory', { ...lea, json })
    const at = `/api/memory/${added[0].id}`
    expect(await search(lea, 'query=theremins')).toEqual(['Lea plays the theremin'])
    expect((await callJson(at, lea)).origins).toEqual([{ principal: 'lea' }])
    const changed = await callJson(at, { ...lea, json: { text: 'Lea plays the zither' } })
    expect(changed).toMatchObject({ text: 'Lea plays the zither', label: { integrity: 'data' } })
    expect(await search(lea, 'query=theremin')).toEqual([])
    for (const init of [max, {}]) {
      expect(await search(init, 'query=zither')).toEqual([])
      expect(await search(init, '')).toEqual([])
      for (const method of ['GET', 'DELETE', 'POST'])
        expect(
          (await call(at, { ...init, ...(method === 'POST' ? { json: {} } : { method }) })).status,
        ).toBe(404)
    }
    expect(await callJson('/api/operator/memory/lea')).toMatchObject({
      places: [{ scope: 'principal', notes: 1 }],
    })
    expect((await call('/api/operator/memory/lea', max)).status).toBe(403)
    expect(await callJson(at, { ...lea, method: 'DELETE' })).toEqual({ forgotten: 1 })
    expect(await search(lea, '')).toEqual([])
    expect((await call(at, { ...lea, method: 'DELETE' })).status).toBe(404)
  })

  it('of the deployment is written by an operator, and read by every principal', async () => {
    const ned = await keyOf('ned')
    const body = { scope: 'deployment', notes: [{ text: 'The office closes at six' }] }
    expect((await call('/api/memory', { ...ned, json: body })).status).toBe(403)
    expect((await call('/api/memory?scope=deployment', { ...ned, method: 'DELETE' })).status).toBe(
      403,
    )
    await callJson('/api/memory', { json: body })
    expect(await search(ned, 'scope=deployment&query=office')).toEqual(['The office closes at six'])
    expect(await search(ned, 'query=office')).toEqual([])
    expect(notesIn(await run(ned, 'orchestrator', recall('office')))).toEqual([
      'The office closes at six',
    ])
    await callJson('/api/memory?scope=deployment', { method: 'DELETE' })
    expect(notesIn(await run(ned, 'orchestrator', recall('office')))).toEqual([])
  })

  it('a session is forgotten with what its agents remembered in it, and all of it by an operator', async () => {
    const oto = await keyOf('oto')
    const { session } = await run(oto, 'orchestrator', remember('Oto builds kites'))
    await run(oto, 'orchestrator', remember('Oto bakes bread'))
    expect(await callJson(`/api/memory?session=${session}`, { ...oto, method: 'DELETE' })).toEqual({
      forgotten: 1,
    })
    expect(await search(oto, 'query=Oto')).toEqual(['Oto bakes bread'])
    expect(await callJson('/api/operator/memory/oto', { method: 'DELETE' })).toEqual({
      forgotten: 1,
    })
    expect(await search(oto, '')).toEqual([])
    const { records } = await callJson('/api/operator/audit?type=memory_changed')
    expect(records.at(-1)).toMatchObject({ data: { owner: 'oto', change: 'forgotten', count: 1 } })
    expect(JSON.stringify(records)).not.toContain('bread')
  })

  it('an import is merged with what is there, keeps the worse label, and is tried without a trace', async () => {
    const pia = await keyOf('pia')
    const label = labelFrom('http__get evil.example')
    const notes = [{ text: 'Pia swims at dawn', label }, { text: 'Pia swims at dawn' }]
    const dry = await callJson('/api/memory', { ...pia, json: { notes, dryRun: true } })
    expect(dry.added).toHaveLength(2)
    expect(await search(pia, '')).toEqual([])
    const { added } = await callJson('/api/memory', { ...pia, json: { notes } })
    expect(added.map(({ state }: { state: string }) => state)).toEqual(['added', 'merged'])
    const [note] = (await callJson('/api/memory', pia)).notes
    expect(note.label).toMatchObject({ integrity: 'stranger', confidentiality: 'private' })
    expect((await call('/api/memory', { ...pia, json: { notes: [{ text: '' }] } })).status).toBe(
      400,
    )
    expect((await call('/api/memory', { ...pia, json: { scope: 'agent', notes } })).status).toBe(
      400,
    )
  })

  it('its keys are sealed anew with the secrets, and counted', async () => {
    const quin = await keyOf('quin')
    await callJson('/api/memory', { ...quin, json })
    const { current, failed } = await callJson('/api/operator/secrets/rotate', { json: {} })
    expect(failed).toEqual([])
    expect(current).toBeGreaterThan(1)
  })
})
