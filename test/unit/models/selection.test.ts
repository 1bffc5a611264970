import { describe, expect, it, vi } from 'vitest'
import type { DeclaredModel, ModelConfig } from '../../../src/platform/models/types.ts'
import type { Message } from '#contracts/message.ts'
import type { ModelParameters, ModelRequest } from '#contracts/model.ts'
import type { ScoreModel } from '../../../src/platform/models/types.ts'
import { createWorld, ofType, runOn } from './upstreams.ts'

const server = (id: string, models: readonly DeclaredModel[] = []) => ({
  id,
  baseUrl: `http://${id}/v1`,
  models,
})
const small: DeclaredModel = {
  name: 'small',
  contextTokens: 8_000,
  images: false,
  tools: false,
  structuredOutput: false,
}
const large: DeclaredModel = {
  name: 'large',
  contextTokens: 100_000,
  images: true,
  tools: true,
  structuredOutput: true,
}
const two: Partial<ModelConfig> = {
  defaultModel: 'near/small, far/large',
  servers: [server('near', [small]), server('far', [large])],
}
const fine = { near: [{ text: 'near' }], far: [{ text: 'far' }] }
const user = (text: string, images: readonly string[] = []): Message => ({
  role: 'user',
  text,
  ...(images.length > 0 && { images: images.map((url) => ({ url })) }),
  taint: ['user'],
})
const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: undefined,
  messages: [user('hello')],
  tools: [],
  parameters: {},
  ...more,
})
const tool = { name: 't', description: 'd', inputSchema: {} }
const json: ModelParameters = { responseFormat: { type: 'json_object' } }
const selected = (config: Partial<ModelConfig>, asked: ModelRequest, score?: ScoreModel) =>
  createWorld(fine, config, score && { score }).models.provider.select(asked.model, asked)

describe('I6: the first model in priority order that can serve a request', () => {
  it('is the first of the list if that can', () => {
    expect(selected(two, request())).toEqual({
      provider: 'near',
      model: 'small',
      substituted: false,
    })
  })

  it.each<[string, Partial<ModelRequest>, string]>([
    ['images', { messages: [user('look', ['data:image/png;base64,AA=='])] }, 'images'],
    ['tools', { tools: [tool] }, 'tools'],
    ['JSON for a client', { parameters: json }, 'structured_output'],
    ['JSON for an agent', { outputSchema: { type: 'object' } }, 'structured_output'],
    ['a long input', { messages: [user('word '.repeat(9_000))] }, 'context'],
    ['a long answer', { parameters: { maxOutputTokens: 9_000 } }, 'context'],
  ])('is the next one for %s', (_what, more, reason) => {
    expect(selected(two, request(more))).toEqual({
      provider: 'far',
      model: 'large',
      substituted: true,
      passedOver: [{ provider: 'near', model: 'small', reason }],
    })
  })

  it('is one that fits the cost ceiling, if there is one', () => {
    const price = { inputUsdPerMillion: 10, outputUsdPerMillion: 100 }
    const config = {
      defaultModel: 'dear/m,cheap/m',
      servers: [
        server('dear', [{ name: 'm', price }]),
        server('cheap', [{ name: 'm', price: { inputUsdPerMillion: 0, outputUsdPerMillion: 0 } }]),
      ],
    }
    const maxCostNanoUsd = 1_000_000
    expect(selected(config, request({ maxCostNanoUsd: 1_000_000_000 }))).toMatchObject({
      provider: 'dear',
    })
    expect(selected(config, request({ maxCostNanoUsd }))).toMatchObject({
      provider: 'cheap',
      passedOver: [{ provider: 'dear', reason: 'cost' }],
    })
    // Without a cheaper model the lease refuses the call, which stops a run instead of failing it.
    const alone = { ...config, defaultModel: 'dear/m' }
    expect(selected(alone, request({ maxCostNanoUsd }))).toMatchObject({ provider: 'dear' })
  })

  it('is the one that was asked for, and only then those of the list', () => {
    const images = [user('look', ['data:image/png;base64,AA=='])]
    expect(selected(two, request({ model: 'far/large' }))).toMatchObject({ substituted: false })
    expect(selected(two, request({ model: 'near/small', messages: images }))).toMatchObject({
      provider: 'far',
      substituted: true,
    })
  })

  it('is refused with what is missing when no model can', async () => {
    const config = { ...two, defaultModel: 'near/small' }
    const world = createWorld(fine, config)
    const { result } = await runOn(world, {
      messages: [user('look', ['data:image/png;base64,AA=='])],
    })
    expect(result).toMatchObject({
      state: 'failed',
      error: {
        code: 'model_not_capable',
        message: expect.stringContaining('near/small takes no images'),
      },
    })
    expect(world.asked).toEqual([])
    expect(() => selected(config, request({ tools: [tool] }))).toThrow(/takes no tools/)
    expect(() => selected(config, request({ parameters: json }))).toThrow(/no structured output/)
    expect(() => selected(config, request({ messages: [user('word '.repeat(9_000))] }))).toThrow(
      /room for 8000 tokens of about \d{5}/,
    )
    expect(() =>
      createWorld({}, { isDevelopment: true }).models.provider.select(
        undefined,
        request({ messages: [user('look', ['data:image/png;base64,AA=='])] }),
      ),
    ).toThrow(/offline\/offline takes no images/)
  })

  it('is tried where nothing is known of it', () => {
    const config = { defaultModel: 'near/any', servers: [server('near')] }
    const all = request({ messages: [user('look', ['x'])], tools: [tool], parameters: json })
    expect(selected(config, all)).toMatchObject({ provider: 'near', substituted: false })
  })

  it('is on the record when it is not the first', async () => {
    const world = createWorld(fine, two)
    const { events, result } = await runOn(world, { parameters: json })
    expect(result.result).toBe('far')
    expect(ofType(events, 'model_substituted')).toEqual([
      {
        asked: '',
        provider: 'far',
        model: 'large',
        passedOver: [{ provider: 'near', model: 'small', reason: 'structured_output' }],
      },
    ])
  })
})

describe("I6: a host's own scoring function", () => {
  it('chooses among those that can, and is told what they are and what is needed', () => {
    const score = vi.fn<ScoreModel>(({ provider }) => (provider === 'far' ? 1 : 0))
    expect(selected(two, request(), score)).toMatchObject({
      provider: 'far',
      passedOver: [{ provider: 'near', reason: 'score' }],
    })
    expect(score.mock.calls[0]).toMatchObject([
      { provider: 'near', model: 'small', priority: 0, capabilities: { images: false } },
      { images: false, tools: false, structuredOutput: false },
    ])
    expect(selected(two, request({ tools: [tool] }), () => 0)).toMatchObject({ provider: 'far' })
  })

  it('keeps the order of the list between equals, and may rule a model out', () => {
    expect(selected(two, request(), () => 7)).toMatchObject({ provider: 'near' })
    expect(
      selected(two, request(), ({ provider }) => (provider === 'near' ? -Infinity : 0)),
    ).toMatchObject({ provider: 'far' })
    expect(() => selected(two, request(), () => Number.NaN)).toThrow(
      expect.objectContaining({ code: 'model_not_capable' }),
    )
  })
})

describe('names of models', () => {
  const config = {
    openaiApiKey: 'sk-test',
    servers: [server('router', [{ name: 'meta-llama/llama-3' }]), server('any')],
  }
  it.each([
    ['router/meta-llama/llama-3', 'router', 'meta-llama/llama-3'],
    ['meta-llama/llama-3', 'router', 'meta-llama/llama-3'],
    ['any/what/ever', 'any', 'what/ever'],
    ['gpt-4.1', 'openai', 'gpt-4.1'],
  ])('%s is found', (name, provider, model) => {
    const { provider: models } = createWorld({}, config).models
    expect(models.select(name)).toEqual({ provider, model, substituted: false })
  })

  it('of a server with a list are those on it', () => {
    const { provider: models } = createWorld({}, config).models
    expect(models.select('router/other')).toMatchObject({ provider: 'openai', substituted: true })
  })

  it('of a server `openai` take the place of OPENAI_API_KEY and OPENAI_BASE_URL', async () => {
    const own = { openaiApiKey: 'sk-test', servers: [server('openai', [{ ...large, name: 'm' }])] }
    const world = createWorld({ openai: [{ text: 'own' }] }, { ...own, defaultModel: 'm' })
    expect((await runOn(world)).result.result).toBe('own')
    expect(world.asked).toEqual(['openai m'])
  })

  it('without a setting are the first that a further server names', () => {
    const { models } = createWorld({}, { servers: [server('any'), server('far', [large])] })
    expect(models.provider.select(undefined)).toMatchObject({ provider: 'far', model: 'large' })
    expect(models.list().map(({ id }) => id)).toEqual(['far/large'])
  })

  it('that no server serves are left out of the list', () => {
    const { models } = createWorld(
      {},
      { ...config, defaultModel: 'offline-not/x, workers-ai/@cf/x, any/y' },
    )
    expect(models.list().map(({ id }) => id)).toContain('any/y')
    expect(models.list().map(({ id }) => id)).not.toContain('workers-ai/@cf/x')
  })
})

it('prices a model as its server says', () => {
  const price = { inputUsdPerMillion: 3, outputUsdPerMillion: 15 }
  const { provider } = createWorld(
    {},
    { defaultModel: 'a/m', servers: [server('a', [{ name: 'm', price }])] },
  ).models
  const { tokens, costNanoUsd } = provider.estimate(
    request({ parameters: { maxOutputTokens: 1_000 } }),
  )
  expect(costNanoUsd).toBe((tokens - 1_000) * 3_000 + 1_000 * 15_000)
})

describe('P29: what the model takes that will answer', () => {
  const contextOf = (config: Partial<ModelConfig>, asked: ModelRequest) =>
    createWorld(fine, config).models.provider.contextOf?.(asked)
  const long = { messages: [user('word '.repeat(200_000))] }

  it('is that of the largest which would be asked in turn, however long the request is', () => {
    expect(contextOf(two, request(long))).toEqual({
      name: 'far/large',
      contextTokens: 100_000,
      maxOutputTokens: 4_096,
    })
    const alone = { ...two, defaultModel: 'near/small', servers: [server('near', [small])] }
    expect(contextOf(alone, request(long))).toMatchObject({ contextTokens: 8_000 })
  })

  it('is not the limit of a model behind a model of unknown context size', () => {
    const unsaid = {
      ...two,
      servers: [server('near', [{ name: 'small' }]), server('far', [large])],
    }
    expect(contextOf(unsaid, request(long))).toEqual({ name: 'near/small', maxOutputTokens: 4_096 })
  })

  it('is what the price file says where the operator said nothing, with the price', () => {
    const config = { defaultModel: 'openai/gpt-4o-mini', openaiApiKey: 'sk-test' }
    expect(contextOf(config, request({ parameters: { maxOutputTokens: 50 } }))).toMatchObject({
      name: 'openai/gpt-4o-mini',
      contextTokens: 128_000,
      maxOutputTokens: 50,
      price: { inputUsdPerMillion: 0.15 },
    })
  })

  it('is that of one which can take the rest of the request', () => {
    const sharp = { ...small, images: true, contextTokens: 4_000, name: 'sharp' }
    const config = {
      defaultModel: 'near/small, far/sharp',
      servers: [server('near', [small]), server('far', [sharp])],
    }
    const asked = request({ messages: [user('look', ['data:image/png;base64,AA=='])] })
    expect(contextOf(config, asked)).toMatchObject({ name: 'far/sharp' })
    expect(contextOf(config, request())).toMatchObject({ name: 'near/small' })
  })

  it('is nothing where no model would answer', () => {
    expect(contextOf({}, request())).toBeUndefined()
  })
})
