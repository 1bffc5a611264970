import { describe, expect, it } from 'vitest'
import type { Offers } from '../../../src/contracts/manifest/manifest-offers.ts'
import { maxBodyBytes } from '../../../src/platform/routes/body.ts'
import { parked, resultOf, testKey, testRun, testSession } from '../../fakes/http-deps.ts'
import { createMcpApp, directResult } from '../../fakes/mcp-app.ts'

const hints = { isReadOnly: true, isIdempotent: true, isDestructive: false }
const kvGet = { name: 'kv__get', description: 'Gets.', inputSchema: { type: 'object' }, ...hints }
const withKv = { exposed: { tools: ['kv__*'] }, tools: [kvGet] }
const offers: Offers = {
  resources: [
    { owner: 'notes', uri: 'note://one', isTemplate: false, name: 'one', mimeType: 'text/plain' },
    { owner: 'notes', uri: 'note://{id}/text', isTemplate: true, name: 'text' },
    { owner: 'hidden', uri: 'secret://one', isTemplate: false, name: 'secret' },
  ],
  prompts: [
    {
      owner: 'notes',
      name: 'sum',
      arguments: [{ name: 'of', required: true, suggestions: ['weeks', 'words'] }],
    },
    { owner: 'hidden', name: 'other', arguments: [] },
  ],
}
const withNotes = { exposed: { resources: ['notes'], prompts: ['notes'] }, offers }
const call = (name: string, given: object = {}) => ({ name, arguments: given })

describe('an agent as a tool', () => {
  it('runs for the caller, with its own limits and agents', async () => {
    const authenticate = async () => ({
      id: 'ann',
      role: 'user' as const,
      key: 'key_1',
      agents: ['orchestrator'],
      limits: { tokens: 5 },
    })
    const { ask, submitted } = createMcpApp({ deps: { authenticate } as never })
    const { result } = await ask('tools/call', call('orchestrator', { task: 'Go.' }))
    expect(result.content[0]).toEqual({ type: 'text', text: 'Hello there' })
    expect(submitted()).toMatchObject({
      agent: 'orchestrator',
      principal: 'ann',
      key: 'key_1',
      dayLimits: { tokens: 5 },
      allowedAgents: ['orchestrator'],
      messages: [{ role: 'user', text: 'Go.', taint: ['user'] }],
    })
  })

  it('goes on with a session only if it is there', async () => {
    const { ask, submitted, calls } = createMcpApp()
    await ask('tools/call', call('orchestrator', { task: 'On.', session: testSession }))
    expect(submitted()).toMatchObject({ mustExist: true })
    expect(calls[0]?.session).toBe(testSession)
    const { result } = await ask(
      'tools/call',
      call('orchestrator', { task: 'x', session: 'ses_1' }),
    )
    expect(result).toMatchObject({ isError: true })
    expect(result.content[0].text).toContain('request_not_found')
  })

  it('answers a run that failed as an error with our code', async () => {
    const error = { code: 'lease_tokens', message: 'The budget is used up.' }
    const result = resultOf({ success: false, state: 'stopped', result: '', error })
    const { ask } = createMcpApp({ result })
    const { result: answer } = await ask('tools/call', call('orchestrator', { task: 'Go.' }))
    expect(answer).toMatchObject({ isError: true, structuredContent: { error } })
  })

  it.each([{}, { task: '' }, { task: 'x', odd: 1 }, { task: 'x', background: 'yes' }])(
    'refuses arguments that are wrong, and begins nothing: %j',
    async (given) => {
      const { ask, calls } = createMcpApp()
      const { result } = await ask('tools/call', call('orchestrator', given))
      expect([result.isError, calls]).toEqual([true, []])
      expect(result.content[0].text).toContain('request_invalid')
    },
  )

  it('does not wait in the background', async () => {
    const { ask, calls } = createMcpApp()
    await ask('tools/call', call('orchestrator', { task: 'Go.', background: true }))
    expect(calls.map(({ method }) => method)).toEqual(['submit', 'result'])
  })

  it('tells nothing of a bug', async () => {
    const { ask, faults } = createMcpApp({ fault: new Error('the password is 123') })
    const { result } = await ask('tools/call', call('orchestrator', { task: 'Go.' }))
    expect(JSON.stringify(result)).not.toContain('123')
    expect(faults).toHaveLength(1)
  })
})

describe('a tool that was chosen', () => {
  it('M8: is a run of that one call, in a stateless session', async () => {
    const { ask, submitted } = createMcpApp({ ...withKv, result: directResult({ value: 7 }) })
    const { result } = await ask('tools/call', call('kv__get', { key: 'a' }))
    expect(result.content).toEqual([{ type: 'text', text: '{"value":7}' }])
    expect(result.structuredContent).toEqual({ value: 7 })
    expect(submitted()).toMatchObject({
      agent: 'orchestrator',
      isStateless: true,
      directCall: { tool: 'kv__get', input: { key: 'a' } },
    })
  })

  it('answers rich content as it is', async () => {
    const content = [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }]
    const { ask } = createMcpApp({ ...withKv, result: directResult({ content }) })
    expect((await ask('tools/call', call('kv__get'))).result.content).toEqual(content)
  })

  it('answers a failure with the code that a model would be told', async () => {
    const output = { ok: false, call: 'call_1', code: 'tool_denied', message: 'Not here.' }
    const { ask } = createMcpApp({ ...withKv, result: { ...directResult(1), output } })
    const { result } = await ask('tools/call', call('kv__get'))
    const content = [{ type: 'text', text: 'tool_denied: Not here.' }]
    expect(result).toMatchObject({ isError: true, content })
    expect(result).not.toHaveProperty('structuredContent')
  })

  it.each(['kv__set', 'secret__get', 'nobody', 'isola__call', 'constructor'])(
    'is the only one that can be called: %s is not there',
    async (name) => {
      const { ask, calls } = createMcpApp(withKv)
      expect((await ask('tools/call', call(name))).error.code).toBe(-32_602)
      expect(calls).toEqual([])
    },
  )
})

describe('runs that take longer', () => {
  it('are asked for by session and run; a malformed id reaches no session', async () => {
    const { ask, calls } = createMcpApp()
    const place = { session: testSession, run: testRun }
    const { result } = await ask('tools/call', call('isola__run_status', place))
    expect(result.structuredContent).toMatchObject({ ...place, state: 'completed' })
    calls.length = 0
    const odd = await ask('tools/call', call('isola__run_cancel', { ...place, run: '../x' }))
    expect([odd.result.isError, calls]).toEqual([true, []])
  })

  it("T2: look absent if they are another's", async () => {
    const refusal = { code: 'request_not_found', message: 'It is of bob.' }
    const { ask } = createMcpApp({ refusal })
    const place = { session: testSession, run: testRun }
    const { result } = await ask('tools/call', call('isola__run_status', place))
    expect(result.content[0].text).toBe('request_not_found: There is no such session or run.')
  })

  it('say what they wait for, and where it is decided', async () => {
    const view = { state: 'parked', pauses: parked.pauses, result: undefined } as never
    const { ask } = createMcpApp({ view })
    const place = { session: testSession, run: testRun }
    const { result } = await ask('tools/call', call('isola__run_status', place))
    expect(result.isError).toBeFalsy()
    expect(result.structuredContent).toMatchObject({
      state: 'parked',
      waits_for: [{ call: 'call_1', kind: 'approval', tool: 'http__request' }],
    })
    expect(result.content[0].text).toContain(
      `/api/sessions/${testSession}/runs/${testRun}/decisions`,
    )
  })
})

describe('resources', () => {
  it('lists those of owners that were named, and the conversations of the caller', async () => {
    const listing = {
      id: testSession,
      agent: 'orchestrator',
      principal: 'operator',
      createdAtMs: 5,
      usedAtMs: 9,
      runs: 2,
      state: 'completed' as const,
      isStateless: false,
    }
    const asked: unknown[] = []
    const sessionIndex = {
      idsOf: async () => [],
      placeOf: async () => undefined,
      list: async (query: unknown) => {
        asked.push(query)
        return { sessions: [listing], next: { sinceMs: 5, id: testSession } }
      },
    }
    const { ask } = createMcpApp({ ...withNotes, deps: { sessionIndex } })
    const { result } = await ask('resources/list')
    expect(result.resources.map(({ uri }: { uri: string }) => uri)).toEqual([
      'note://one',
      `isola://sessions/${testSession}`,
    ])
    const next = await ask('resources/list', { cursor: result.nextCursor })
    expect(next.result.resources).toHaveLength(1)
    expect(asked).toMatchObject([
      { principal: 'operator' },
      { principal: 'operator', after: { sinceMs: 5, id: testSession } },
    ])
    expect((await ask('resources/list', { cursor: 'odd' })).error.code).toBe(-32_602)
  })

  it('lists templates, with that of conversations', async () => {
    const { ask } = createMcpApp(withNotes)
    const { result } = await ask('resources/templates/list')
    const uris = result.resourceTemplates.map((one: { uriTemplate: string }) => one.uriTemplate)
    expect(uris).toEqual(['note://{id}/text', 'isola://sessions/{id}'])
  })

  it.each(['note://one', 'note://7/text'])('reads %s through its ordinary tool', async (uri) => {
    const resource = { uri, mimeType: 'text/plain', text: 'Seven.' }
    const output = { content: [{ type: 'resource', resource }] }
    const { ask, submitted } = createMcpApp({ ...withNotes, result: directResult(output) })
    expect((await ask('resources/read', { uri })).result.contents).toEqual([resource])
    expect(submitted().directCall).toEqual({ tool: 'notes__read_resource', input: { uri } })
  })

  const alsoThere = [
    ['the same URI', 'note://one', false, 'note://one'],
    ['a template that takes it', 'note://{x}', true, 'note://one'],
    ['a URI that its template takes', 'note://7/text', false, 'note://7/text'],
    ['a template that takes the same', 'note://{x}/{y}', true, 'note://7/text'],
    ['its template with another variable', 'note://{x}/text', true, 'note://7/text'],
  ] as const
  it.each(alsoThere)(
    'N10: what another owner has too is read from neither: %s',
    async (_what, uri, isTemplate, wanted) => {
      const another = { owner: 'aaa', uri, isTemplate, name: 'x' }
      const both = { ...offers, resources: [another, ...offers.resources] }
      const exposed = { resources: ['aaa', 'notes'] }
      const { ask, calls } = createMcpApp({ exposed, offers: both })
      expect((await ask('resources/read', { uri: wanted })).error.code).toBe(-32_602)
      expect(calls).toEqual([])
    },
  )

  it('N10: a resource of two owners is in no list, and an operator is told of both', async () => {
    const two = [
      { owner: 'aaa', uri: 'note://one', isTemplate: false, name: 'x' },
      { owner: 'aaa', uri: 'note://{x}/text', isTemplate: true, name: 'x' },
    ]
    const both = { ...offers, resources: [...two, ...offers.resources] }
    const exposed = { resources: ['aaa', 'notes'] }
    const { ask, send } = createMcpApp({ exposed, offers: both })
    expect((await ask('resources/list')).result.resources).toEqual([])
    const { resourceTemplates } = (await ask('resources/templates/list')).result
    expect(resourceTemplates).toHaveLength(1)
    const told = (uri: string) => `aaa and notes have the resource ${uri}: none of them offers it.`
    const shown = await (await send('/api/operator/exposed')).json()
    const notes = [told('note://one'), told('note://{x}/text'), told('note://{id}/text')]
    expect(shown).toMatchObject({ notes })
    const set = await (await send('/api/operator/exposed', { json: { exposed } })).json()
    expect(set).toMatchObject({ notes })
  })

  it('N10: nothing under our own scheme is of an owner', async () => {
    const of = (uri: string, isTemplate: boolean) => ({
      owner: 'notes',
      uri,
      isTemplate,
      name: 'x',
    })
    const resources = [of('isola://policy', false), of('ISOLA://{+x}', true), of('{+x}', true)]
    const { ask, calls } = createMcpApp({ ...withNotes, offers: { ...offers, resources } })
    expect(JSON.stringify(await ask('resources/list'))).not.toContain('isola://policy')
    expect(JSON.stringify(await ask('resources/templates/list'))).not.toContain('ISOLA')
    for (const uri of ['isola://policy', 'Isola://sessions/x'])
      expect((await ask('resources/read', { uri })).error.code).toBe(-32_602)
    expect(calls).toEqual([])
  })

  it.each(['secret://one', 'note://two', 'isola://sessions/ses_1', 'isola://sessions/../x'])(
    'T2: says of %s that it is not there, and calls nothing',
    async (uri) => {
      const { ask, calls } = createMcpApp(withNotes)
      expect((await ask('resources/read', { uri })).error.code).toBe(-32_602)
      expect(calls).toEqual([])
    },
  )

  it('reads a conversation of the caller a page at a time, without where its words came from', async () => {
    const uri = `isola://sessions/${testSession}`
    const { ask, calls } = createMcpApp()
    const { result } = await ask('resources/read', { uri })
    expect(JSON.parse(result.contents[0].text)).toEqual({
      session: testSession,
      from: 0,
      messages: [{ role: 'user', text: 'Hi' }],
    })
    expect(calls[0]?.args).toEqual(['operator', {}])
    const later = await ask('resources/read', { uri: `${uri}?from=1` })
    expect(JSON.parse(later.result.contents[0].text).messages).toEqual([])
  })

  it("T2: a conversation of another's is not there", async () => {
    const refusal = { code: 'request_not_found', message: 'no' }
    const { ask } = createMcpApp({ refusal })
    const answer = await ask('resources/read', { uri: `isola://sessions/${testSession}` })
    expect(answer.error.code).toBe(-32_602)
  })
})

describe('a list', () => {
  it.each(['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'])(
    'of %s has no page for a cursor that was never given',
    async (method) => {
      const { ask } = createMcpApp(withNotes)
      expect((await ask(method, { cursor: 'odd' })).error.code).toBe(-32_602)
      expect((await ask(method)).error).toBeUndefined()
    },
  )
})

describe('prompts', () => {
  it('lists and fills in those of owners that were named', async () => {
    const messages = [{ role: 'user', content: { type: 'text', text: 'Sum.' } }]
    const output = { content: [{ type: 'text', text: 'Sum.' }], structured: { messages } }
    const { ask, submitted } = createMcpApp({ ...withNotes, result: directResult(output) })
    const { prompts } = (await ask('prompts/list')).result
    expect(prompts).toEqual([{ name: 'notes__sum', arguments: [{ name: 'of', required: true }] }])
    const given = { name: 'notes__sum', arguments: { of: 'weeks' } }
    expect((await ask('prompts/get', given)).result.messages).toEqual(messages)
    expect(submitted().directCall).toEqual({
      tool: 'notes__get_prompt',
      input: { name: 'sum', arguments: { of: 'weeks' } },
    })
  })

  it('N10: have no bare name that is the full name of another', async () => {
    const of = (owner: string, name: string) => ({ owner, name, arguments: [] })
    const both = { resources: [], prompts: [of('a', 'b__c'), of('b', 'c')] }
    const exposed = { prompts: ['a', 'b'], bare_names: ['a__*'] }
    const { ask } = createMcpApp({ exposed, offers: both })
    const { prompts } = (await ask('prompts/list')).result
    expect(prompts.map(({ name }: { name: string }) => name)).toEqual(['a__b__c', 'b__c'])
  })

  it.each([{ name: 'hidden__other' }, { name: 'sum' }, { name: 'notes__sum' }])(
    'makes none that is not offered, or lacks an argument: %j',
    async (params) => {
      const { ask, calls } = createMcpApp(withNotes)
      expect((await ask('prompts/get', params)).error.code).toBe(-32_602)
      expect(calls).toEqual([])
    },
  )

  it('suggests what the manifest says, and runs nothing', async () => {
    const { ask, calls } = createMcpApp(withNotes)
    const ref = { type: 'ref/prompt', name: 'notes__sum' }
    const params = { ref, argument: { name: 'of', value: 'we' } }
    expect((await ask('completion/complete', params)).result.completion.values).toEqual(['weeks'])
    expect(calls).toEqual([])
  })
})

describe('a body', () => {
  const send = async (body: string, type = 'application/json') => {
    const { app } = createMcpApp()
    const headers = { authorization: `Bearer ${testKey}`, 'content-type': type, host: 'localhost' }
    const response = await app.request('http://localhost/mcp', { method: 'POST', headers, body })
    return [response.status, ((await response.json()) as { error: { code: number } }).error.code]
  }

  it('T27: is refused over the limit before it is parsed', async () => {
    expect(await send(' '.repeat(maxBodyBytes + 1))).toEqual([413, -32_000])
  })

  it('is refused if it is no JSON object, in the words of the protocol', async () => {
    expect(await send('{')).toEqual([400, -32_700])
    expect(await send('[]')).toEqual([400, -32_700])
    expect(await send('{}', 'text/plain')).toEqual([415, -32_000])
  })
})
