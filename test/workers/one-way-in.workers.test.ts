import { saidLabel } from '#contracts/label.ts'
import { env } from 'cloudflare:workers'
import { runInDurableObject } from 'cloudflare:test'
import { afterEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '#contracts/json.ts'
import { composeRuntime } from '../../src/compose/composition.ts'
import { callJson, type Answer } from '../fakes/client.ts'
import { connectModern } from '../fakes/mcp-clients.ts'
import { stubOf } from '../fakes/objects.ts'
import { createTestSurface } from '../fakes/test-surface.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

/** Keeps a note, has something reviewed by a sub-agent, and answers. */
const script: UpstreamScript = ({ messages }) => {
  const said = messages.filter(({ role }) => role === 'tool').length
  if (String(messages.at(-1)?.content).includes('eval(x)') && said === 0)
    return { text: 'One problem: eval.' }
  if (said === 0) return { calls: [{ name: 'kv__set', input: { key: 'colour', value: 'blue' } }] }
  const review = { task: 'review', context: 'eval(x)' }
  return said === 1
    ? { calls: [{ name: 'code-reviewer__run', input: review }] }
    : { text: 'The reviewer found one problem.' }
}

const task = 'Remember blue, then have it reviewed.'
const model = 'orchestrator'
const surface = createTestSurface(composeRuntime(env as unknown as Env).http.entry, {
  id: 'operator',
})
/** The same, asked in a session that is there. */
const surfaces: Readonly<Record<string, (session: string) => Promise<unknown>>> = {
  chat: async (session) => {
    const json = { model, messages: [{ role: 'user', content: task }] }
    const headers = { 'x-isola-session': session }
    return callJson('/v1/chat/completions', { json, headers })
  },
  responses: (session) => {
    const headers = { 'x-isola-session': session }
    return callJson('/v1/responses', { json: { model, input: task }, headers })
  },
  api: (session) => callJson(`/api/sessions/${session}/runs`, { json: { task, wait: true } }),
  mcp: async (session) => {
    const client = await connectModern()
    await client.callTool({ name: model, arguments: { task, session } })
    await client.close()
  },
  test: (session) => surface.say(session, task),
}

/**
 * Every row of a session's log with what differs from run to run taken out: ids, when something was, and what the
 * platform was made to do by then.
 */
async function rowsOf(session: string): Promise<readonly Answer[]> {
  const rows = await runInDurableObject(stubOf(session), (_instance, { storage }) => [
    ...storage.sql.exec('SELECT * FROM log ORDER BY run, turn, part'),
  ])
  return rows.map(({ body, ...row }) => ({
    ...row,
    id: String(row['id']).slice(0, 4),
    body: JSON.parse(String(body), (name, value: unknown) => {
      if (name.endsWith('Ms') || name.startsWith('platform')) return undefined
      return typeof value === 'string' ? withoutIds(value) : value
    }),
  }))
}

const withoutIds = (text: string): string =>
  text
    .replace(/\b(ses|run|req|evt)_[0-9A-Za-z]{22}\b/g, '$1')
    .replace(/\bcall_(\d+_\d+)_[0-9a-f]{8}\b/g, 'call_$1')
    .replace(/\b[0-9a-f]{32}\b/g, 'trace')

async function journalOf(ask: (session: string) => Promise<unknown>) {
  const { id } = await callJson('/api/sessions', { json: {} })
  await ask(id)
  const { children } = await callJson(`/api/sessions/${id}`)
  return { root: await rowsOf(id), child: await rowsOf(children[0].id) }
}

/** The submissions of runs, and the rows without them. */
function apart(rows: readonly Answer[]) {
  const asked: JsonObject[] = []
  const rest = rows.map(({ body, ...row }) => {
    const { submission, ...more } = body
    if (submission) asked.push(submission)
    return { ...row, body: more }
  })
  return { asked, rest }
}

const withLabel = (messages: unknown) =>
  (messages as readonly object[]).map((message) => ({ ...message, label: saidLabel }))

describe('a run', () => {
  it('P3, N3: has the same rows whatever it came in by, but for the origin and what its client can do', async () => {
    upstream = installUpstream(script)
    const asked: Record<string, readonly JsonObject[]> = {}
    const rows: Record<string, unknown> = {}
    for (const [name, ask] of Object.entries(surfaces)) {
      const { root, child } = await journalOf(ask)
      const [above, below] = [apart(root), apart(child)]
      rows[name] = [above.rest, below.rest]
      asked[name] = [...above.asked, ...below.asked]
    }
    for (const name of Object.keys(surfaces))
      expect([name, rows[name]]).toEqual([name, rows['test']])
    // What a client can do is its surface's to say: the run of a chat client cannot wait for an approval.
    const { origin: _test, ...said } = asked['test']![0]!
    const { origin: _inherited, ...handedDown } = asked['test']![1]!
    const clientTools = { pauses: 'client_tools', parameters: {} }
    const refusing = { ...handedDown, pauses: 'refuse' }
    const as = (origin: string, above: object, below: object = handedDown) => [
      { ...said, ...above, origin },
      { ...below, origin },
    ]
    expect(asked).toEqual({
      chat: as('chat', clientTools, refusing),
      responses: as('responses', { ...clientTools, echo: expect.any(Object) }, refusing),
      api: as('api', {}),
      // What its client was given before is joined to what it says now; here that was nothing.
      mcp: as('mcp', { messages: withLabel(said['messages']) }),
      test: as('test', {}),
    })
  })
})
