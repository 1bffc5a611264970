import { runDurableObjectAlarm } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { stubOf } from '../fakes/objects.ts'
import { addPlugin, pluginBundle } from '../fakes/plugin-admin.ts'
import { installUpstream, type UpstreamRequest, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => {
  upstream?.restore()
  vi.useRealTimers()
})

type By = { readonly headers?: Record<string, string> }
let count = 0
/** A new principal. */
async function somebody(more: object = {}): Promise<By & { readonly principal: string }> {
  const principal = `alone-${(count += 1)}`
  const json = { principal, role: 'user', ...more }
  const { key } = await callJson('/api/operator/keys', { json })
  return { principal, headers: { authorization: `Bearer ${key}` } }
}
const add = (id: string, agent: object = {}, more: object = {}, by: By = {}): Promise<Answer> =>
  callJson('/api/agents', {
    ...by,
    json: {
      id,
      name: id,
      description: `Does what ${id} does.`,
      agent: { instructions: `You are ${id}.`, ...agent },
      ...more,
    },
  })
const change = (id: string, what: string, by: By = {}) =>
  callJson(`/api/agents/${id}/${what}`, { ...by, json: {} })
const open = async (agent: string, by: By = {}): Promise<string> =>
  (await callJson('/api/sessions', { ...by, json: { agent } })).id
const run = (session: string, task = 'go', by: By = {}): Promise<Answer> =>
  callJson(`/api/sessions/${session}/runs`, { ...by, json: { task, wait: true } })
const ask = async (agent: string, task = 'go', by: By = {}): Promise<Answer> =>
  run(await open(agent, by), task, by)
const started = async (session: string, by: By = {}): Promise<string> =>
  (await callJson(`/api/sessions/${session}/runs`, { ...by, json: { task: 'go' } })).run
const onDemand = (json: object, by: By = {}): Promise<Answer> =>
  callJson('/api/agents/on-demand', { ...by, json: { task: 'go', ...json } })
const runsOf = async (query = '', by: By = {}): Promise<Answer[]> =>
  (await callJson(`/api/runs${query}`, by)).runs

const whoIs = ({ messages }: UpstreamRequest) =>
  /You are ([a-z-]+)\./.exec(String(messages[0]?.content))?.[1] ?? ''
const answersIn = ({ messages }: UpstreamRequest) =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
const patience = { timeout: 30_000, interval: 50 }

describe('what an agent says of documents', () => {
  it('I21: holds for one that is kept and for one on demand: what the deployment has is not found', async () => {
    withModel((request) => {
      const [answer] = answersIn(request)
      const input = { query: 'sencha' }
      return answer === undefined
        ? { calls: [{ name: 'knowledge__search', input }] }
        : { text: answer }
    })
    const own = { name: 'tea.txt', text: 'Sencha: three minutes.' }
    await callJson('/api/knowledge', { json: own })
    const rules = { name: 'rules.txt', text: 'Sencha is for guests.', scope: 'deployment' }
    await callJson('/api/knowledge', { json: rules })
    const section = (scope?: readonly string[]) => ({
      instructions: 'You look it up.',
      uses_tools: ['knowledge'],
      ...(scope && { knowledge: { scope } }),
    })
    await add('reads-all', section())
    await add('reads-own', section(['principal']))
    expect((await ask('reads-all')).result.result).toContain('rules.txt')
    const kept = (await ask('reads-own')).result.result
    expect(kept).toContain('tea.txt')
    expect(kept).not.toContain('rules.txt')
    const { result: once } = await onDemand({ agent: section(['principal']) })
    expect(once).toContain('tea.txt')
    expect(once).not.toContain('rules.txt')
  })
})

describe('I10: one, many, one for a request', () => {
  it('I10: sync run-and-drop answers, and leaves neither a session nor a run', async () => {
    withModel(() => ({ text: 'done' }))
    const by = await somebody()
    const answer = await onDemand({ agent: { instructions: 'You are here once.' } }, by)
    expect([answer.state, answer.result]).toEqual(['completed', 'done'])
    expect((await call(`/api/sessions/${answer.session}`, by)).status).toBe(404)
    expect(await runsOf('', by)).toEqual([])
  })

  it('I10: async gives a handle, and the registry has it: followed and cancelled by its links', async () => {
    const { promise: never } = Promise.withResolvers<never>()
    withModel(() => ({ text: 'never', wait: never }))
    const by = await somebody()
    const handle = await onDemand(
      { agent: { instructions: 'You work.' }, background: true, ttlSeconds: 600 },
      by,
    )
    const listed = () =>
      vi.waitFor(async () => {
        const [one] = await runsOf('', by)
        expect(one).toMatchObject({ id: handle.run, session: handle.session, state: 'running' })
        return one
      }, patience)
    const one = await listed()
    expect(one).toMatchObject({ agent: 'on-demand', principal: by.principal })
    expect(one.startedAtMs).toBeGreaterThan(0)
    expect(await (await call(`${one.links.events}&follow=false`, by)).text()).toContain(
      'run_started',
    )
    expect((await callJson(one.links.run, by)).id).toBe(handle.run)
    // An operator sees the runs of all principals, any other principal their own.
    const ids = async (query: string) => (await runsOf(query)).map(({ id }) => id)
    expect(await ids(`?principal=${by.principal}`)).toEqual([handle.run])
    expect(await ids('')).not.toContain(handle.run)
    const other = await somebody()
    expect(await runsOf('', other)).toEqual([])
    expect((await call(`/api/runs?principal=${by.principal}`, other)).status).toBe(403)
    await callJson(one.links.cancel, { ...by, json: {} })
    await vi.waitFor(async () => {
      const [ended] = await runsOf('', by)
      expect(ended).toMatchObject({ id: handle.run, state: 'cancelled' })
      expect(ended.usage).toHaveProperty('inputTokens')
    }, patience)
  })

  it('I7: the same key joins the run of an agent on demand; another body under it is 422', async () => {
    let asked = 0
    withModel(() => ({ text: `done ${(asked += 1)}` }))
    const by = await somebody()
    const headers = { ...by.headers, 'idempotency-key': 'once' }
    const agent = { instructions: 'You work.' }
    const [first, again] = [
      await onDemand({ agent }, { headers }),
      await onDemand({ agent }, { headers }),
    ]
    expect(first).toMatchObject({ state: 'completed', result: 'done 1' })
    expect(again).toEqual(first)
    const handle = await onDemand({ agent, background: true }, { headers })
    expect(handle).toMatchObject({ session: first.session, run: first.run })
    expect(handle.expiresAtMs).toBe(first.expiresAtMs)
    const json = { agent, task: 'something else' }
    const other = await call('/api/agents/on-demand', { headers, json })
    expect(other.status).toBe(422)
    const { records } = await callJson('/api/operator/audit?type=agent_begun_on_demand')
    expect(records.filter(({ principal }: Answer) => principal === by.principal)).toHaveLength(1)
    // Another principal's key is another one, and without a key it is another run each time.
    const else_ = { ...(await somebody()).headers, 'idempotency-key': 'once' }
    expect((await onDemand({ agent }, { headers: else_ })).session).not.toBe(first.session)
    expect((await onDemand({ agent }, by)).result).toBe('done 3')
  })

  it('I10: lists what is under way first, and narrows by agent', async () => {
    const { promise: never } = Promise.withResolvers<never>()
    withModel((request) =>
      whoIs(request) === 'first-slow' ? { text: 'never', wait: never } : { text: 'done' },
    )
    const by = await somebody()
    await add('first-slow', {}, {}, by)
    await add('then-quick', {}, {}, by)
    const slow = await open('first-slow', by)
    const under = await started(slow, by)
    const { id: over } = await ask('then-quick', 'go', by)
    await vi.waitFor(async () => {
      const states = (await runsOf('', by)).map(({ id, state }) => [id, state])
      expect(states).toEqual([
        [under, 'running'],
        [over, 'completed'],
      ])
    }, patience)
    expect((await runsOf('?agent=then-quick', by)).map(({ id }) => id)).toEqual([over])
    expect((await call('/api/runs?limit=21', by)).status).toBe(400)
    await callJson(`/api/sessions/${slow}/runs/${under}/cancel`, { ...by, json: {} })
  })

  it('I10: singleton is one named session of an agent and a principal, prototype a new one each time', async () => {
    withModel(({ messages }) => ({ text: `${messages.length} messages` }))
    const [ada, ben] = [await somebody(), await somebody()]
    await add('is-shared', {}, { acl: { roles: { user: ['run'] } } })
    const say = async (by: By, name?: string) => {
      const named = name === undefined ? {} : { 'x-isola-session': name }
      const response = await call('/v1/chat/completions', {
        headers: { ...by.headers, ...named },
        json: { model: 'is-shared', messages: [{ role: 'user', content: 'Hi' }] },
      })
      const { choices } = await response.json<Answer>()
      return [response.headers.get('x-isola-session'), choices[0].message.content] as const
    }
    const [session, first] = await say(ada, 'only')
    const [again, second] = await say(ada, 'only')
    expect([again, first, second]).toEqual([session, '2 messages', '4 messages'])
    const [others, hers] = await say(ben, 'only')
    expect([others === session, hers]).toEqual([false, '2 messages'])
    const [one, other] = [await say(ada), await say(ada)]
    expect(one[0]).not.toBe(other[0])
    expect([one[1], other[1]]).toEqual(['2 messages', '2 messages'])
  })
})

describe('an id of an agent', () => {
  it('I8: is no plugin’s and no server’s that comes later, archived or not, until it is deleted', async () => {
    await add('has-the-name')
    const plugin = { bundle: pluginBundle('has-the-name', 'x') }
    const server = { id: 'has-the-name', url: 'https://mcp.test/mcp' }
    const refused = async (path: string, json: object) => {
      const response = await call(path, { json })
      return [response.status, (await response.json<Answer>()).error.message]
    }
    const why = [
      409,
      expect.stringContaining('is that of an agent (isola agent show has-the-name)'),
    ]
    expect(await refused('/api/operator/plugins', plugin)).toEqual(why)
    expect(await refused('/api/operator/mcp', server)).toEqual(why)
    await change('has-the-name', 'archive')
    expect(await refused('/api/operator/plugins', plugin)).toEqual(why)
    await call('/api/agents/has-the-name', { method: 'DELETE' })
    expect(await addPlugin(plugin.bundle)).toMatchObject({ plugin: { id: 'has-the-name' } })
  })
})

describe('an agent that names another', () => {
  /** An agent in `calls` makes that call, and says its result; every other agent says its own name. */
  const calling =
    (calls: Readonly<Record<string, string>>): UpstreamScript =>
    (request) => {
      const who = whoIs(request)
      const [answer] = answersIn(request)
      if (answer !== undefined) return { text: answer }
      const name = calls[who]
      return name ? { calls: [{ name, input: { task: 'go' } }] } : { text: `I am ${who}` }
    }

  it('I8: calls it, where its caller may run it, and is refused one that only others may', async () => {
    withModel(calling({ 'calls-helper': 'is-helper__run', 'calls-helper-too': 'is-helper__run' }))
    const [ada, ben] = [await somebody(), await somebody()]
    await add('is-helper', {}, { acl: { principals: { [ada.principal]: ['run'] } } })
    const uses = { uses_tools: ['is-helper__run'] }
    await add('calls-helper', uses, { acl: { roles: { user: ['run'] } } })
    expect((await ask('calls-helper', 'go', ada)).result.result).toContain('I am is-helper')
    const bens = (await ask('calls-helper', 'go', ben)).result.result
    expect(bens).not.toContain('I am is-helper')
    expect(bens).toContain('is-helper__run')
    // An author who may not run the named agent is refused when the definition is saved.
    await expect(add('calls-helper-too', uses, {}, ben)).rejects.toThrow(
      /agent\.uses_tools\[0\]: there is no .* \\"is-helper__run\\" here for you/,
    )
  })

  it('I8: A that calls B that calls A comes to its end, and B that is archived is an error that A reads', async () => {
    withModel(calling({ 'ring-a': 'ring-b__run', 'ring-b': 'ring-a__run' }))
    await add('ring-a')
    await add('ring-b', { uses_tools: ['ring-a__run'] })
    await add('ring-a', { uses_tools: ['ring-b__run'] })
    const around = await ask('ring-a')
    expect([around.state, around.result.result]).toEqual([
      'completed',
      expect.stringContaining('The agent ring-a is already at work above this call'),
    ])
    await change('ring-b', 'archive')
    const gone = await ask('ring-a')
    expect([gone.state, gone.result.result]).toEqual([
      'completed',
      expect.stringContaining('There is no tool named \\"ring-b__run\\" here.'),
    ])
  })
})

describe('an agent that is at work', () => {
  it('I8: stops at its next turn when it is archived', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    withModel((_request, index) => ({
      calls: [{ name: 'kv__set', input: { key: 'k', value: index } }],
      ...(index === 0 && { wait: promise }),
    }))
    await add('is-archived', { uses_tools: ['kv__set', 'kv__get'] })
    const session = await open('is-archived')
    const id = await started(session)
    await vi.waitFor(() => expect(upstream?.requests).toHaveLength(1), patience)
    await change('is-archived', 'archive')
    await new Promise((tick) => setTimeout(tick, 1_100)) // what an isolate believes of it is a second old at most
    resolve(undefined)
    await vi.waitFor(async () => {
      const view = await callJson(`/api/sessions/${session}/runs/${id}`)
      expect(view).toMatchObject({
        state: 'failed',
        result: { error: { message: 'This agent was switched off.' } },
      })
    }, patience)
    expect(upstream?.requests).toHaveLength(1)
  })
})

describe('an agent on demand', () => {
  it('I7: deletes its session when its time is over, and does one task only', async () => {
    withModel(() => ({ text: 'done' }))
    const agent = { instructions: 'You are here for ten minutes.' }
    const { session, expiresAtMs } = await onDemand({ agent, ttlSeconds: 600 })
    const second = await call(`/api/sessions/${session}/runs`, { json: { task: 'more' } })
    expect([second.status, (await second.json<Answer>()).error.message]).toEqual([
      409,
      expect.stringContaining('An agent on demand does one task.'),
    ])
    vi.useFakeTimers({ toFake: ['Date'] })
    const statusAt = async (atMs: number) => {
      vi.setSystemTime(atMs)
      for (let ring = 0; ring < 4; ring += 1) await runDurableObjectAlarm(stubOf(session))
      return (await call(`/api/sessions/${session}`)).status
    }
    expect(await statusAt(expiresAtMs - 60_000)).toBe(200)
    await vi.waitFor(async () => expect(await statusAt(expiresAtMs + 60_000)).toBe(404), patience)
  })

  it('I7: hears of no event', async () => {
    const subscribes = [{ event: 'isola.run_finished', task: 'Look.' }]
    const agent = { instructions: 'You listen.', subscribes }
    await expect(onDemand({ agent })).rejects.toThrow(/agent\.subscribes.*agents that are kept/)
  })
})

describe('agents and models that a caller may name', () => {
  it('I8: GET /v1/models lists the agents that the caller may run', async () => {
    const by = await somebody()
    await add('is-for-her', {}, { acl: { principals: { [by.principal]: ['run'] } } })
    const listed = async (who: By) =>
      (await callJson('/v1/models', who)).data.map(({ id }: Answer) => id)
    expect(await listed(by)).toContain('is-for-her')
    expect(await listed(await somebody())).not.toContain('is-for-her')
  })

  it('I26: a key with a list of agents names those; whom they call is not asked of the list, plugin’s or not', async () => {
    withModel((request) => {
      const [answer] = answersIn(request)
      const task = String(request.messages.findLast(({ role }) => role === 'user')?.content)
      if (!/orchestrator/.test(String(request.messages[0]?.content)))
        return { text: 'I was called' }
      if (answer !== undefined) return { text: answer }
      const input = { name: task, input: { task: 'go' } }
      return { calls: [{ name: 'isola__call', input }] }
    })
    const by = await somebody({ agents: ['orchestrator'] })
    await add('is-beyond', {}, { acl: { principals: { [by.principal]: ['run'] } } })
    const opened = (agent: string) => call('/api/sessions', { ...by, json: { agent } })
    for (const [agent, tool] of [
      ['code-reviewer', 'code-reviewer__run'],
      ['is-beyond', 'is-beyond__run'],
    ] as const) {
      expect((await opened(agent)).status).toBe(404)
      expect((await ask('orchestrator', tool, by)).result.result).toContain('I was called')
    }
  })
})
