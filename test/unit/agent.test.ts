import { describe, expect, it } from 'vitest'
import { Agent, type AgentOptions } from '../../src/embedded/agent.ts'
import { asksForSummary, createContextParts, prose, tokensOf } from '../fakes/context.ts'
import { createFakeModel, createFakeSources, says, type Script } from '../fakes/kernel.ts'
import { createRandom } from '../fakes/random.ts'

const clockTool: AgentOptions['tools'][number] = {
  name: 'clock',
  description: 'Tells the time.',
  inputSchema: { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'] },
  execute: async ({ zone }) => says(`12:00 in ${String(zone)}`),
}

const agentWith = (script: Script, more: Partial<AgentOptions> = {}) =>
  new Agent({
    id: 'example',
    taskPrompt: 'You tell the time.',
    tools: [clockTool],
    modelProviders: [createFakeModel(script)],
    sources: createFakeSources(),
    ...more,
  })

describe('the embeddable agent', () => {
  it('I25: runs with an id, a task prompt, tools and model providers, and nothing else', async () => {
    const { tools, modelProviders } = {
      tools: [clockTool],
      modelProviders: [createFakeModel([{ text: 'Hello.' }])],
    }
    const result = await new Agent({
      id: 'minimal',
      taskPrompt: 'Say hello.',
      tools,
      modelProviders,
    }).run()
    expect(result).toMatchObject({ success: true, result: 'Hello.', agent: 'minimal' })
  })

  it('I11: says nothing in a session where no provider serves it', async () => {
    const providers = [createFakeModel([{ text: 'one' }])]
    const agent = agentWith([], { modelProviders: providers })
    const session = agent.createSession()
    const [model] = providers.splice(0)
    await expect(agent.run('first', session)).rejects.toMatchObject({
      code: 'model_not_configured',
    })
    expect(session.messages).toEqual([])
    providers.push(model!)
    await agent.run('again', session)
    expect(session.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  })

  it('I2: turns a spec and a model into a sequence of actions and a final result', async () => {
    const agent = agentWith([
      { calls: [{ name: 'clock', input: { zone: 'Bern' } }] },
      { text: 'Noon.' },
    ])
    const result = await agent.run('What time is it?')
    expect(result.actions).toMatchObject([{ tool: 'clock', ok: true }])
    expect(result.result).toBe('Noon.')
  })

  it('I11: keeps a session over runs, and forgets it after runOnce', async () => {
    const model = createFakeModel([{ text: 'one' }, { text: 'two' }, { text: 'three' }])
    const agent = agentWith([], { modelProviders: [model] })
    const session = agent.createSession()
    await agent.run('first', session)
    await agent.run('second', session)
    await agent.runOnce('third')
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'user',
    ])
    expect(model.requests[2]?.messages).toHaveLength(2)
  })

  it('I11: tells listeners of each step and each tool call', async () => {
    const agent = agentWith([
      { calls: [{ name: 'clock', input: { zone: 'Bern' } }] },
      { text: 'Noon.' },
    ])
    const heard: string[] = []
    agent.on('step', (turn) => heard.push(`step ${turn.turn}`))
    const off = agent.on('tool', (event) => heard.push(`tool ${String(event.data['tool'])}`))
    await agent.run()
    off()
    expect(heard).toEqual(['tool clock', 'step 1', 'step 2'])
  })

  it('I11, C7: stops a run that is under way', async () => {
    const agent = agentWith([
      { wait: new Promise((resolve) => setTimeout(resolve, 20)), text: 'late' },
    ])
    const running = agent.run()
    setTimeout(() => agent.stop('enough'), 5)
    expect(await running).toMatchObject({ state: 'cancelled', error: { message: 'enough' } })
  })

  it('I5: limits a run to maxSteps turns', async () => {
    const agent = agentWith(() => ({ calls: [{ name: 'clock', input: { zone: 'Bern' } }] }), {
      maxSteps: 2,
    })
    expect(await agent.run()).toMatchObject({ state: 'stopped', error: { code: 'lease_turns' } })
  })

  it('I18: checks tool input against the schema before the tool sees it', async () => {
    const agent = agentWith([{ calls: [{ name: 'clock', input: {} }] }, { text: 'Sorry.' }])
    const result = await agent.run()
    expect(result.actions).toMatchObject([{ ok: false, code: 'tool_invalid_input' }])
  })

  it('I19: gives the same result for the same script, clock and ids', async () => {
    const script: Script = [
      { calls: [{ name: 'clock', input: { zone: 'Bern' } }] },
      { text: 'Noon.' },
    ]
    expect(await agentWith(script).run()).toEqual(await agentWith(script).run())
  })

  it.each(['memoryClient', 'databaseClient', 'promptStore'] as const)(
    'I5: refuses a %s, which it would not use',
    (name) => {
      const refusal = `${name}: an embedded agent does not use one yet; leave it out, or hold it in a tool.`
      expect(() => agentWith([], { [name]: {} as never })).toThrow(refusal)
    },
  )

  it('says so when no provider serves the model', async () => {
    const deaf = {
      ...createFakeModel([]),
      select: () => {
        throw new Error('not here')
      },
    }
    await expect(agentWith([], { modelProviders: [deaf] }).run()).rejects.toMatchObject({
      code: 'model_not_configured',
    })
  })

  it.each([
    ['no options', undefined, 'options'],
    ['a misspelled option', { maxStep: 3 }, 'maxStep'],
    ['a misspelled limit', { limits: { maxTokenz: 5 } }, 'limits.maxTokenz'],
    ['a limit that is no number', { limits: { maxTokens: Number.NaN } }, 'limits.maxTokens'],
    ['a limit in words', { limits: { maxToolCalls: 'x' } }, 'limits.maxToolCalls'],
    ['a limit that is null', { limits: { maxTokens: null } }, 'limits.maxTokens'],
    ['no number of steps', { maxSteps: Number.NaN }, 'maxSteps'],
    ['less than one step', { maxSteps: -1 }, 'maxSteps'],
    ['an id that is no slug', { id: 'Ä B' }, 'id'],
    [
      'a tool that does nothing',
      { tools: [{ ...clockTool, execute: undefined }] },
      'tools[0].execute',
    ],
    [
      'a tool of the name of the one that opens what left',
      { tools: [{ ...clockTool, name: 'isola__read_output' }] },
      'tools[0].name',
    ],
    ['two tools of one name', { tools: [clockTool, clockTool] }, 'tools[1].name'],
    [
      'a schema that is no object',
      { tools: [{ ...clockTool, inputSchema: { type: 'nonsense' } }] },
      'tools[0].inputSchema.type',
    ],
    ['a memory that nothing uses', { memoryClient: {} }, 'memoryClient'],
  ])('I5: refuses %s and names it', (_what, more, param) => {
    const options = more && {
      id: 'example',
      taskPrompt: 'You tell the time.',
      tools: [clockTool],
      modelProviders: [createFakeModel([])],
      ...more,
    }
    expect(() => new Agent(options as AgentOptions)).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        message: expect.stringMatching(`^${param.replaceAll(/[[\].]/g, '\\$&')}: `),
        param,
      }),
    )
  })

  it('E1: keeps the limit that it ships with where an optional one is passed on without a value', async () => {
    const agent = agentWith(() => ({ calls: [{ name: 'clock', input: { zone: 'Bern' } }] }), {
      limits: { maxTurns: undefined } as never,
    })
    expect(await agent.run()).toMatchObject({ state: 'stopped', error: { code: 'lease_turns' } })
  })

  it('I11: tells the host of what a tool throws and why a run failed, and the model of neither', async () => {
    const faults: string[] = []
    const throwing = { ...clockTool, execute: () => Promise.reject(new Error('boom secret')) }
    const agent = agentWith(
      [{ calls: [{ name: 'clock', input: { zone: 'Bern' } }] }, { error: new Error('net down') }],
      { tools: [throwing] },
    )
    agent.on('fault', (error) => faults.push((error as Error).message))
    const result = await agent.run()
    expect(faults).toEqual(['boom secret', 'net down'])
    expect(JSON.stringify(result)).not.toMatch(/boom|net down/)
  })

  it('I18: tells the model what a tool must give that gave something else', async () => {
    const wrong = { ...clockTool, execute: async () => 'noon' as never }
    const agent = agentWith(
      [{ calls: [{ name: 'clock', input: { zone: 'Bern' } }] }, { text: '.' }],
      {
        tools: [wrong],
      },
    )
    expect((await agent.run()).actions).toMatchObject([{ ok: false, code: 'tool_failed' }])
  })

  it('I11: says which events there are', () => {
    expect(() => agentWith([]).on('nope' as 'tool', () => {})).toThrow(
      /must be one of step, tool, fault/,
    )
  })

  it('P29: goes on in a session that outgrew what its model says it takes, and opens what left', async () => {
    const { models } = createContextParts((request) => {
      if (asksForSummary(request)) return { text: 'Notes.' }
      const { messages } = request
      const [handle] = /ses_\w+\.kept\.\w+/.exec(JSON.stringify(messages)) ?? []
      const last = messages.at(-1)
      if (last?.role === 'tool') return { text: JSON.stringify(last.output) }
      if (last?.role === 'user' && last.text === 'Which number?' && handle)
        return { calls: [{ name: 'isola__read_output', input: { handle, query: 'number is' } }] }
      return { text: 'Noted.' }
    }, 16_000)
    const agent = agentWith([], { modelProviders: [models] })
    const session = agent.createSession()
    const random = createRandom(16)
    await agent.run('The number is 4711.', session)
    for (let count = 0; count < 60; count += 1)
      expect((await agent.run(prose(random, 400), session)).state).toBe('completed')
    expect((await agent.run('Which number?', session)).result).toContain('number is 4711.')
    const sent = models.requests.map(tokensOf)
    expect(models.requests.filter(asksForSummary).length).toBeGreaterThan(1)
    expect(Math.max(...sent)).toBeLessThanOrEqual(16_000 - 4_096)
    expect(session.messages).toHaveLength(2 * 61 + 4)
  })

  it('offers nothing to open where its model does not say what it takes', async () => {
    const model = createFakeModel([{ text: 'one' }])
    await agentWith([], { modelProviders: [model] }).run()
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['clock'])
  })
})
