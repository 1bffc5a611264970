import {
  abortAllDurableObjects,
  listDurableObjectIds,
  runDurableObjectAlarm,
  runInDurableObject,
} from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { sha256 } from '../fakes/kernel.ts'
import { addPlugin, enablePlugin } from '../fakes/plugin-admin.ts'
import { installUpstream, type UpstreamRequest } from '../fakes/upstream.ts'

type Call = { readonly name: string; readonly input: object }
let upstream: ReturnType<typeof installUpstream>
let calls: readonly Call[] = []
const via = (name: string, input: object): Call => ({ name: 'isola__call', input: { name, input } })

beforeEach(() => {
  upstream = installUpstream(({ messages }: UpstreamRequest) => {
    const asked = messages.findLastIndex(({ role }) => role === 'user')
    if (String(messages[asked]?.content).includes('below')) return { text: `heard ${secret}` }
    const answers = messages.slice(asked).filter(({ role }) => role === 'tool')
    const next = calls[answers.length]
    return next ? { calls: [next] } : { text: `done ${secret}` }
  })
})
afterEach(() => upstream.restore())

const person = 'quill-marker-7f3a'
const secret = 'xylosecret7f3a'
const namespaces = ['SESSION', 'PRINCIPAL', 'CATALOG', 'PLUGIN_SERVICE', 'MCP_SERVER'].map(
  // Without its methods, whose types are too deep for the compiler.
  (name) => (env as unknown as Record<string, DurableObjectNamespace>)[name]!,
)

const textOf = (value: unknown): string =>
  value instanceof ArrayBuffer ? new TextDecoder('latin1').decode(value) : String(value)

/** Where a text is: every row of every table of D1, of every object, and every name and value of KV. */
async function placesOf(...wanted: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>()
  const look = (place: string, value: unknown): void => {
    const text = textOf(value).toLowerCase()
    if (wanted.some((one) => text.includes(one))) found.add(place)
  }
  const { results: tables } = await env.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'`,
  ).all<{ name: string }>()
  for (const { name } of tables) {
    const { results } = await env.DB.prepare(`SELECT * FROM "${name}"`).all()
    for (const row of results) for (const value of Object.values(row)) look(`d1 ${name}`, value)
  }
  for (const space of namespaces) {
    for (const id of await listDurableObjectIds(space)) {
      const rows = await runInDurableObject(space.get(id), (_object, { storage }) =>
        [...storage.sql.exec(`SELECT name FROM sqlite_master WHERE type = 'table'`)]
          .map(({ name }) => String(name))
          .filter((name) => !name.startsWith('_cf') && !name.startsWith('sqlite_'))
          .flatMap((name) =>
            [...storage.sql.exec(`SELECT * FROM "${name}"`)].flatMap((row) =>
              Object.values(row).map((value) => [name, textOf(value)] as const),
            ),
          ),
      )
      for (const [table, value] of rows) look(`object ${table}`, value)
    }
  }
  // Reached by their ids, they do not know their names.
  await abortAllDurableObjects()
  for (const kv of [env.KV, env.OAUTH_KV]) {
    for (const { name } of (await kv.list()).keys) look('kv', `${name} ${await kv.get(name)}`)
  }
  return [...found].toSorted()
}

const operatorObject = () =>
  (env.PRINCIPAL as unknown as DurableObjectNamespace).getByName(sha256('9:principal8:operator'))

/** Has the clock of the work come round until nothing is left. */
async function finished(id: string): Promise<Answer> {
  for (let ring = 0; ring < 40; ring += 1) {
    const erasure = await callJson(`/api/operator/erasures/${id}`)
    if (erasure.state === 'done') return erasure
    await env.DB.prepare('UPDATE erasures SET next_ms = 0 WHERE next_ms > 0').run()
    const object = operatorObject() as unknown as { erase: () => Promise<unknown> }
    await object.erase()
    await runDurableObjectAlarm(operatorObject())
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(JSON.stringify(await callJson(`/api/operator/erasures/${id}`)))
}

const keyOf = async (principal: string, role = 'user'): Promise<object> => {
  const json = { principal, role }
  const { key } = await callJson('/api/operator/keys', { json })
  return { headers: { authorization: `Bearer ${key}` } }
}
const run = async (by: object, task: string, ...made: readonly Call[]): Promise<Answer> => {
  calls = made
  const { id } = await callJson('/api/sessions', { ...by, json: {} })
  const json = { task, wait: true }
  return { ...(await callJson(`/api/sessions/${id}/runs`, { ...by, json })), session: id }
}

describe('I21: erasing a person', () => {
  it('leaves no trace of them in any table, object or key of KV, and their keys open nothing from the start', async () => {
    await callJson('/api/operator/policy', {
      json: { policy: { network: { hosts: ['*'] }, allow_skill_emission: true } },
    })
    await addPlugin({
      manifest: {
        id: 'scribe',
        name: 'scribe',
        version: '1.0.0',
        description: 'Writes things down.',
        agent: { integration_mode: 'tool', model: 'default', instructions: 'prompt.md' },
      },
      files: { 'prompt.md': 'Write.' },
    })
    await enablePlugin('scribe')
    const by = await keyOf(person, 'operator')
    const other = await keyOf('bystander')
    // Conversations, with what is below them, files, notes of both kinds, and a skill that was written.
    const asked = await run(
      by,
      `I am ${person} and my word is ${secret}`,
      via('scribe__run', { task: `below: ${secret}` }),
      via('files__write', { path: `${secret}.txt`, text: secret }),
      via('memory__note', { text: secret }),
      via('memory__remember', { fact: `The word is ${secret}` }),
      {
        name: 'isola__emit_skill',
        input: {
          name: `find-${secret}`,
          description: `Finds ${secret}. Use when somebody asks for ${secret}.`,
          instructions: `# Find\n\n1. Look for ${secret} with kv__get.\n2. Say where it was, and never more than that.\n3. Ask when it is not there.`,
        },
      },
    )
    expect(asked.result).toMatchObject({ state: 'completed' })
    expect(asked.result.actions.filter(({ ok }: Answer) => !ok)).toEqual([])
    const parked = await run(by, 'forget it', via('memory__forget', { ids: ['mem_1'] }))
    expect(parked.state).toBe('parked')
    const said = await call('/v1/chat/completions', {
      headers: { ...(by as { headers: object }).headers, 'x-isola-session': secret },
      json: { model: 'orchestrator', messages: [{ role: 'user', content: secret }] },
    })
    expect(said.status).toBe(200)
    // Data of the person outside of conversations.
    await callJson('/api/memory', { ...by, json: { notes: [{ text: `I like ${secret}` }] } })
    const note = { scope: 'deployment', notes: [{ text: `The ${secret} office` }] }
    await callJson('/api/memory', { ...by, json: note })
    await callJson('/api/memory', { json: { ...note, notes: [{ text: 'The office is closed' }] } })
    await callJson('/api/schedules', {
      ...by,
      json: { name: secret, task: secret, when: { cron: '0 9 1 1 *' } },
    })
    await callJson('/api/settings', { ...by, json: { timeZone: 'Europe/Berlin' } })
    await callJson('/api/subscriptions', {
      ...by,
      json: { event: 'weather.*', name: secret, task: secret },
    })
    const text = { name: `${secret}.md`, text: `The ${secret} handbook`, type: 'markdown' }
    await callJson('/api/knowledge', { ...by, json: text })
    await callJson('/api/knowledge', { ...by, json: { ...text, scope: 'agent', agent: 'scribe' } })
    await callJson('/api/knowledge', { ...by, json: { ...text, scope: 'deployment' } })
    const rules = { name: 'rules.md', text: 'Close the window', type: 'markdown' }
    await callJson('/api/knowledge', { json: { ...rules, scope: 'deployment' } })
    // Agents without a plugin: theirs, and another's that lets them in.
    const agent = (id: string, more: object = {}) => ({
      id,
      name: id,
      description: 'Writes things down.',
      agent: { instructions: `Write.${id.startsWith('quiet') ? secret : ''}` },
      ...more,
    })
    await callJson('/api/agents', { ...by, json: agent('quiet-clerk') })
    const acl = { principals: { [person]: ['see', 'run'] } }
    await callJson('/api/agents', { json: agent('open-clerk', { acl }) })
    // What others said of them by name.
    await callJson('/api/operator/policy', {
      json: {
        policy: { allow_skill_emission: true, principals: { [person]: { deny: ['http__*'] } } },
      },
    })
    // Changes that they made to the deployment.
    await callJson('/api/operator/secrets', { ...by, json: { name: 'HELD', value: secret } })
    await callJson('/api/operator/policy', { ...by, json: { policy: {} } })
    await env.DB.prepare(
      `INSERT INTO oauth_grants (id, principal, client, client_name, redirect_uri, resource, scopes, signed_in_with, created_at_ms, expires_at_ms)
        VALUES ('g1', ?1, 'c', ?2, 'http://localhost/', 'r', '[]', 'key', 1, 9e15)`,
    )
      .bind(person, secret)
      .run()
    await env.OAUTH_KV.put(`grant:${person}:g1`, JSON.stringify({ userId: person }))
    const { id: others } = await callJson('/api/sessions', { ...other, json: {} })

    // Waits until all of it is listed: the checks below stop the work by looking.
    const count = async (table: string) =>
      Number(
        await env.DB.prepare(`SELECT count(*) AS n FROM ${table} WHERE principal = ?1`)
          .bind(person)
          .first('n'),
      )
    await vi.waitFor(
      async () => {
        expect(await count('sessions')).toBe(4)
        expect(await count('approvals')).toBe(1)
        expect(await count('audit_runs')).toBeGreaterThanOrEqual(4)
        expect(await count('schedules')).toBe(2)
      },
      { timeout: 60_000, interval: 200 },
    )
    const tables =
      'approvals audit audit_runs generations keys memory_owners oauth_grants principals'
    const more = 'schedules secrets sessions skill_draft_writings skill_drafts'
    expect(await placesOf(person, secret)).toEqual(
      expect.arrayContaining([
        ...`${tables} ${more}`.split(' ').map((table) => `d1 ${table}`),
        'kv',
        'object items',
        'object log',
        'object schedules',
      ]),
    )

    const json = { principal: person, confirm: person }
    const wrong = await call('/api/operator/erasures', { json: { ...json, confirm: 'quill' } })
    expect(wrong.status).toBe(400)
    const erasure = await callJson('/api/operator/erasures', { json })
    expect(erasure).toMatchObject({ state: 'running', principal: person, askedBy: 'operator' })
    // While it runs no request of the person is let in, no principal of that name is made, and asking again is the same.
    expect((await call('/api/sessions', by)).status).toBe(401)
    expect((await call('/api/operator/keys', { json: { principal: person } })).status).toBe(409)
    expect(await callJson('/api/operator/erasures', { json })).toMatchObject({ id: erasure.id })

    const done = await finished(erasure.id)
    expect(await placesOf(person, secret)).toEqual([])
    expect(done).toMatchObject({ principal: erasure.id, problems: {} })
    expect(done.erased).toMatchObject({
      sessions: expect.any(Number) as number,
      'notes of the deployment': 1,
      'documents of the deployment': 1,
      keys: 1,
    })
    expect(done.erased.sessions).toBeGreaterThanOrEqual(3)
    // The events stay on the record, without the name.
    const { records } = await callJson(`/api/operator/audit?session=${asked.session}`)
    expect(records.map(({ type }: Answer) => type)).toEqual(
      expect.arrayContaining(['run_started', 'tool_finished', 'run_finished']),
    )
    expect(new Set(records.map(({ principal }: Answer) => principal))).toEqual(
      new Set([erasure.id]),
    )
    const { records: told } = await callJson('/api/operator/audit?type=person_erased')
    expect(told.map(({ data }: Answer) => data)).toMatchObject([
      { owner: erasure.id, step: 'asked' },
      { owner: erasure.id, step: 'done' },
    ])
    // Others are as they were.
    expect((await callJson(`/api/sessions/${others}`, other)).id).toBe(others)
    const { documents } = await callJson('/api/knowledge?scope=deployment', other)
    expect(documents.map(({ name }: Answer) => name)).toEqual(['rules.md'])
    expect((await call('/api/agents/quiet-clerk')).status).toBe(404)
    expect((await callJson('/api/agents/open-clerk')).id).toBe('open-clerk')
    const { notes } = await callJson('/api/memory?scope=deployment', other)
    expect(notes.map(({ text }: Answer) => text)).toEqual(['The office is closed'])
    // The name is free: the next principal with it is another person.
    const next = await keyOf(person)
    expect(await callJson('/api/memory', next)).toMatchObject({ notes: [] })
  })

  it('takes what subscriptions of others heard of them, with its conversations and notices, and their agents out of conversations of others', async () => {
    const heron = 'heron-marker-9b2c'
    const by = await keyOf(heron, 'author')
    const other = await keyOf('reader')
    await callJson('/api/operator/policy', { json: { policy: { network: { hosts: ['*'] } } } })
    const heard = {
      event: 'isola.run_finished',
      of: 'everybody',
      task: 'Write down what happened.',
    }
    await callJson('/api/subscriptions', { json: { ...heard, name: 'watch' } })
    await callJson('/api/subscriptions', {
      json: { ...heard, event: 'isola.agent_result', name: 'agents', session: 'ledger' },
    })
    const clerk = (more: object = {}) => ({
      id: 'quill-clerk',
      name: `Clerk ${secret}`,
      description: `Writes what ${secret} says.`,
      agent: { instructions: `You know ${secret}.` },
      ...more,
    })
    await callJson('/api/agents', { ...by, json: clerk() })
    await callJson('/api/agents', {
      json: clerk({ acl: { principals: { reader: ['see', 'run'] } } }),
    })
    expect((await run(by, `My word is ${secret}`)).result).toMatchObject({ state: 'completed' })
    await run(by, `Ask ${secret}`, via('quill-clerk__run', { task: `below: ${secret}` }))
    // Another person talks to their agent; the model says nothing of them there.
    const { id: talk } = await callJson('/api/sessions', {
      ...other,
      json: { agent: 'quill-clerk' },
    })
    upstream.restore()
    upstream = installUpstream(() => ({ text: 'Noted.' }))
    const json = { task: 'Say hello.', wait: true }
    await callJson(`/api/sessions/${talk}/runs`, { ...other, json })
    const objectOf = (name: string) => {
      const principals = env.PRINCIPAL as unknown as DurableObjectNamespace
      return principals.getByName(sha256(`9:principal${name.length}:${name}`))
    }
    const rowsOf = (name: string, table: string) =>
      runInDurableObject(objectOf(name), (_object, { storage }) => [
        ...storage.sql.exec(`SELECT body FROM ${table}`),
      ])
    await vi.waitFor(
      async () => {
        const slots = await rowsOf('operator', 'schedule_slots')
        const done = slots.filter(({ body }) => JSON.parse(String(body)).state === 'done')
        expect(done.filter(({ body }) => String(body).includes(heron)).length).toBeGreaterThan(1)
      },
      { timeout: 60_000, interval: 200 },
    )
    expect(await placesOf(heron)).toEqual(expect.arrayContaining(['object schedule_slots']))
    expect(await placesOf(secret)).toEqual(expect.arrayContaining(['object log']))

    const asked = { principal: heron, confirm: heron }
    const erasure = await callJson('/api/operator/erasures', { json: asked })
    const done = await finished(erasure.id)
    expect(done.problems).toEqual({})
    expect(await placesOf(heron, secret)).toEqual([])
    expect(done.erased['what subscriptions of others heard']).toBeGreaterThan(1)
    expect(done.erased['agents in conversations of others']).toBeGreaterThan(0)
    // The conversation of the other one is there, and what was said in it.
    const { messages } = await callJson(`/api/sessions/${talk}/transcript`, other)
    expect(JSON.stringify(messages)).toContain('Noted.')
    // What the operator heard of others stays.
    expect((await callJson('/api/subscriptions')).subscriptions).toHaveLength(2)
  })

  it('leaves no database to an emptied object: pages that rows left behind go, too', async () => {
    const by = await keyOf('once-here')
    await callJson('/api/memory', { ...by, json: { notes: [{ text: `I like ${secret}` }] } })
    await callJson('/api/schedules', {
      ...by,
      json: { name: secret, task: secret, when: { cron: '0 9 1 1 *' } },
    })
    const principals = env.PRINCIPAL as unknown as DurableObjectNamespace
    // Anew each time: a stub of an object that left stays broken.
    const object = () => principals.getByName(sha256('9:principal9:once-here'))
    const tablesOf = () =>
      runInDurableObject(object(), (_object, { storage }) =>
        [...storage.sql.exec(`SELECT name FROM sqlite_master WHERE type = 'table'`)]
          .map(({ name }) => String(name))
          .filter((name) => !/^(_cf|sqlite_|cf_)/.test(name)),
      )
    expect(await tablesOf()).toEqual(expect.arrayContaining(['schedules']))
    const asked = { principal: 'once-here', confirm: 'once-here' }
    await finished((await callJson('/api/operator/erasures', { json: asked })).id)
    // The object that was there leaves first.
    await vi.waitFor(async () => expect(await tablesOf()).toEqual([]), { timeout: 10_000 })
    // The next principal with the name begins with nothing, and works.
    const next = await keyOf('once-here')
    expect(await callJson('/api/memory', next)).toMatchObject({ notes: [] })
    const made = { name: 'a', task: 'b', when: { cron: '0 9 1 1 *' } }
    expect((await call('/api/schedules', { ...next, json: made })).status).toBe(201)
  })
})
