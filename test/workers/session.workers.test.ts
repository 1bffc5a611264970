import { abortAllDurableObjects, listDurableObjectIds, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => upstream?.restore())

const isChild = (request: { messages: readonly { content: unknown }[] }) =>
  String(request.messages[0]?.content).includes('review') &&
  !String(request.messages[0]?.content).includes('Available tools')

/** The orchestrator keeps a note, asks the reviewer, who looks at the workspace, and answers. */
const treeScript: UpstreamScript = (request) => {
  const answered = request.messages.filter(({ role }) => role === 'tool').length
  if (isChild(request)) {
    return answered === 0
      ? { calls: [{ name: 'files__list', input: {} }] }
      : { text: 'One problem: eval.' }
  }
  if (answered === 0)
    return { calls: [{ name: 'kv__set', input: { key: 'colour', value: 'blue' } }] }
  if (answered === 1)
    return {
      calls: [{ name: 'code-reviewer__run', input: { task: 'review', context: 'eval(x)' } }],
    }
  return { text: 'The reviewer found one problem.' }
}

const newSession = async () => (await callJson('/api/sessions', { json: {} })).id as string
const runTask = async (session: string, task: string, more: object = {}) =>
  (await callJson(`/api/sessions/${session}/runs`, { json: { task, wait: true, ...more } })).result

describe('a session', () => {
  it('M3, M4: runs an agent with tools and a sub-agent, each session in an object of its own', async () => {
    const { requests } = withModel(treeScript)
    const session = await newSession()
    const result = await runTask(session, 'remember blue, then have this reviewed: eval(x)')
    expect(result).toMatchObject({ success: true, result: 'The reviewer found one problem.' })
    const tree = await callJson(`/api/sessions/${session}`)
    expect(tree).toMatchObject({
      agent: 'orchestrator',
      children: [{ agent: 'code-reviewer', parent: { session } }],
    })
    expect(tree.usage).toMatchObject({ tokens: 5 * 110, modelCalls: 5, children: 1 })
    expect(tree.children[0].usage).toMatchObject({ tokens: 2 * 110 })
    expect(requests).toHaveLength(5)
  })

  it('Y8, Y15, Y7: the sub-agent sees its task and context only, and exactly the tools of its uses_tools', async () => {
    const { requests } = withModel(treeScript)
    await runTask(await newSession(), 'SECRET CONVERSATION: remember blue and review eval(x)')
    const child = requests.filter(isChild)
    expect(child).toHaveLength(2)
    expect(JSON.stringify(child)).not.toContain('SECRET CONVERSATION')
    expect(JSON.stringify(child[0]?.messages.at(-1))).toContain('eval(x)')
    expect(child[0]?.tools?.map((tool) => tool.function.name).sort()).toEqual([
      'files__list',
      'files__read',
    ])
    expect(child[0]?.model).toBe('scripted')
  })

  it('M5, N7: the audit log has every call of the tree under one trace id, across both objects', async () => {
    withModel(treeScript)
    const session = await newSession()
    const { trace } = await runTask(session, 'go')
    const records = await vi.waitFor(
      async () => {
        const { records: found } = await callJson(`/api/operator/audit?trace=${trace}&limit=500`)
        expect(found.filter(({ type }: Answer) => type === 'run_finished')).toHaveLength(2)
        return found as Answer[]
      },
      { timeout: 60_000 },
    )
    expect(new Set(records.map((record) => record.session)).size).toBe(2)
    const tools = records
      .filter(({ type }) => type === 'tool_finished')
      .map(({ data }) => data.tool)
    expect(tools.toSorted((a: string, b: string) => a.localeCompare(b))).toEqual([
      'code-reviewer__run',
      'files__list',
      'kv__set',
    ])
    expect(records.filter(({ type }) => type === 'model_called')).toHaveLength(5)
    expect(records.every(({ principal }) => principal === 'operator')).toBe(true)
  })

  it('lets a reader follow by cursor without a gap or a repeat', async () => {
    withModel(treeScript)
    const session = await newSession()
    await runTask(session, 'go')
    const all = await readSse(await call(`/api/sessions/${session}/events`))
    const ids = all.flatMap(({ id }) => (id ? [Number(id.split(':')[1])] : []))
    expect(ids).toEqual(ids.map((_, index) => index + 1))
    expect(all.at(-1)?.event).toBe('run_finished')
    const middle = all[3]!
    const rest = await readSse(
      await call(`/api/sessions/${session}/events`, { headers: { 'Last-Event-ID': middle.id! } }),
    )
    expect(rest.map(({ id }) => id)).toEqual(all.slice(4).map(({ id }) => id))
  })

  it('keeps a conversation over several runs', async () => {
    const { requests } = withModel((_request, index) => ({ text: `answer ${index}` }))
    const session = await newSession()
    await runTask(session, 'first')
    await runTask(session, 'second')
    expect(requests[1]?.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'user',
    ])
    const transcript = await callJson(`/api/sessions/${session}/transcript`)
    expect(JSON.stringify(transcript)).toContain('answer 0')
  })

  it('joins a run under the same idempotency key, and refuses the key with another body', async () => {
    const { requests } = withModel(() => ({ text: 'once' }))
    const session = await newSession()
    const send = (task: string) =>
      call(`/api/sessions/${session}/runs`, {
        json: { task, wait: true },
        headers: { 'Idempotency-Key': 'k1' },
      })
    const [first, second] = await Promise.all([send('hello'), send('hello')])
    expect(((await first.json()) as Answer).id).toBe(((await second.json()) as Answer).id)
    expect(((await (await send('hello')).json()) as Answer).result.result).toBe('once')
    expect(requests).toHaveLength(1)
    expect((await send('other')).status).toBe(422)
  })

  it('works on messages to one session in accept order', async () => {
    const gate = Promise.withResolvers<void>()
    const { requests } = withModel((_request, index) =>
      index === 0 ? { text: 'one', wait: gate.promise } : { text: 'two' },
    )
    const session = await newSession()
    const first = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'first' } })
    const second = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'second' } })
    const waiting = await callJson(`/api/sessions/${session}/runs/${second.run}`)
    expect(waiting.state).toBe('queued')
    gate.resolve()
    await vi.waitFor(async () => {
      expect((await callJson(`/api/sessions/${session}/runs/${second.run}`)).state).toBe(
        'completed',
      )
    })
    expect((await callJson(`/api/sessions/${session}/runs/${first.run}`)).result.result).toBe('one')
    expect(JSON.stringify(requests[1]?.messages)).toContain('first')
  })

  it('I15: cancels a run, and its sub-agent with it, with one terminal outcome each', async () => {
    const never = new Promise<never>(() => {})
    withModel((request) =>
      isChild(request)
        ? { wait: never }
        : { calls: [{ name: 'code-reviewer__run', input: { task: 'x' } }] },
    )
    const session = await newSession()
    const { run } = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'go' } })
    await vi.waitFor(
      async () => expect((await callJson(`/api/sessions/${session}`)).children).toHaveLength(1),
      { timeout: 60_000 },
    )
    const cancelled = await callJson(`/api/sessions/${session}/runs/${run}/cancel`, { json: {} })
    expect(cancelled.state).toBe('cancelled')
    await vi.waitFor(async () => {
      const tree = await callJson(`/api/sessions/${session}`)
      expect(tree.children[0].runs).toMatchObject([{ state: 'cancelled' }])
    })
    const events = await readSse(await call(`/api/sessions/${session}/events`))
    expect(events.filter(({ event }) => event === 'run_finished')).toHaveLength(1)
  })

  it('I12: goes on by itself after every object was aborted in the middle of a tool call', async () => {
    let lives = 0
    const never = new Promise<never>(() => {})
    withModel((request) => {
      const answered = request.messages.filter(({ role }) => role === 'tool').length
      if (isChild(request)) return (lives += 1) === 1 ? { wait: never } : { text: 'reviewed' }
      return answered === 0
        ? {
            calls: [
              { name: 'kv__set', input: { key: 'a', value: 1 } },
              { name: 'code-reviewer__run', input: { task: 'x' } },
            ],
          }
        : { text: 'done' }
    })
    const session = await newSession()
    const { run } = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'go' } })
    await vi.waitFor(() => expect(lives).toBe(1), { timeout: 60_000 })
    await new Promise((resolve) => setTimeout(resolve, 400)) // past the checkpoint
    await abortAllDurableObjects()
    const view = await vi.waitFor(
      async () => {
        const found = await callJson(`/api/sessions/${session}/runs/${run}`)
        expect(found.state).toBe('completed')
        return found
      },
      { timeout: 60_000, interval: 200 },
    )
    expect(view.result.result).toBe('done')
    const events = await readSse(await call(`/api/sessions/${session}/events`))
    expect(
      events.filter(({ event, data }) => event === 'tool_finished' && data.data.tool === 'kv__set'),
    ).toHaveLength(1)
    expect(events.map(({ event }) => event)).toContain('run_resumed')
  })

  it('gives nothing away of a session that is not there, and nothing is left of a deleted one', async () => {
    withModel(treeScript)
    const session = await newSession()
    await runTask(session, 'go')
    const child = (await callJson(`/api/sessions/${session}`)).children[0].id
    expect((await call(`/api/sessions/${session}`, { method: 'DELETE' })).status).toBe(200)
    const absent = (await (await call('/api/sessions/ses_0000000000000000000000')).json()) as Answer
    for (const id of [session, child]) {
      const response = await call(`/api/sessions/${id}`)
      expect(response.status).toBe(404)
      expect(((await response.json()) as Answer).error).toMatchObject({
        code: absent.error.code,
        message: absent.error.message,
      })
    }
  })

  it('writes at most 10 rows for a new session, 3 for a run and 12 with a sub-agent', async () => {
    withModel((request) =>
      String(request.messages.at(-1)?.content).includes('plain')
        ? { text: 'plain' }
        : treeScript(request, 0),
    )
    const chat = (content: string, session: string) =>
      call('/v1/chat/completions', {
        json: { model: 'orchestrator', messages: [{ role: 'user', content }] },
        headers: { 'x-isola-session': session },
      })
    const measure = async (work: () => Promise<unknown>) => {
      const before = await rowsWritten()
      await work()
      return (await rowsWritten()) - before
    }
    expect(await measure(() => chat('plain', 'rows'))).toBeLessThanOrEqual(10)
    expect(await measure(() => chat('plain again', 'rows'))).toBeLessThanOrEqual(3)
  })
})

/** The binding without its methods, whose types are too deep for the compiler. */
const namespace = env.SESSION as unknown as DurableObjectNamespace

async function rowsWritten(): Promise<number> {
  const ids = await listDurableObjectIds(namespace)
  const rows = await Promise.all(
    ids.map((id) =>
      runInDurableObject(namespace.get(id), (instance): Promise<number> =>
        (instance as Answer).rowsWritten(),
      ),
    ),
  )
  return rows.reduce((sum, count) => sum + count, 0)
}
