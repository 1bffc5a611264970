import { describe, expect, it } from 'vitest'
import { Agent, type AgentOptions } from '../../src/agent.ts'
import { createFakeModel, createFakeSources, says, type Script } from '../fakes/kernel.ts'

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
})
