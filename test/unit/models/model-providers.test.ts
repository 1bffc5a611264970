import { describe, expect, it } from 'vitest'
import type { ModelConfig } from '../../../src/platform/models/types.ts'
import { createSearchIndex } from '../../../src/runtime/catalog/search/search-index.ts'
import { createModelProviders } from '../../../src/platform/models/model-providers.ts'
import { callOptions } from './call-options.ts'
import { outboundOver } from '../../fakes/outbound.ts'

const asked: unknown[] = []
const models = (config: Partial<ModelConfig>) =>
  createModelProviders(
    { isDevelopment: false, ...config },
    {
      buildIndex: createSearchIndex,
      nowMs: () => 0,
      // Time stands still.
      sleep: (_ms, signal) =>
        new Promise((resolve) => signal?.addEventListener('abort', () => resolve())),
      ...outboundOver(async (_url, init) => {
        asked.push(JSON.parse(String(init.body)))
        return new Response('{}', { status: 400 })
      }),
    },
  )
const selected = (config: Partial<ModelConfig>, name?: string): string => {
  const { provider, model, substituted } = models(config).provider.select(name)
  return `${provider}/${model}${substituted ? ' (substituted)' : ''}`
}
const key = { openaiApiKey: 'sk-test' }
const development = { isDevelopment: true }

describe('T5: addresses of images are handed on', () => {
  const server = { baseUrl: 'https://models.example/v1', models: [], isPublic: true }
  it.each<[string, Partial<ModelConfig>, boolean]>([
    ['where every server is public', { servers: [{ id: 'one', ...server }] }, true],
    [
      'not where one of several is not',
      {
        servers: [
          { id: 'one', ...server },
          { id: 'two', ...server, isPublic: false },
        ],
      },
      false,
    ],
    [
      'not beside a server that cannot be marked',
      { ...key, servers: [{ id: 'one', ...server }] },
      false,
    ],
    ['not by default', key, false],
  ])('%s', (_what, config, isTaken) => expect(models(config).takesAddresses).toBe(isTaken))
})

describe('I6: selecting a model', () => {
  it.each<[string, Partial<ModelConfig>, string | undefined, string]>([
    ['nothing asked, nothing set, in development', development, undefined, 'offline/offline'],
    ['nothing asked, only a key', key, undefined, 'openai/gpt-4o-mini'],
    [
      'nothing asked, only a base URL',
      { openaiBaseUrl: 'http://x/v1' },
      undefined,
      'openai/gpt-4o-mini',
    ],
    [
      'the default, with its provider',
      { ...key, defaultModel: 'openai/gpt-4.1' },
      undefined,
      'openai/gpt-4.1',
    ],
    ['the default, bare', { ...key, defaultModel: 'llama3' }, undefined, 'openai/llama3'],
    [
      "the default, with a router's prefix",
      { ...key, defaultModel: 'meta-llama/llama-3' },
      'meta-llama/llama-3',
      'openai/meta-llama/llama-3',
    ],
    ['Y12: the name `default`', { ...key, defaultModel: 'llama3' }, 'default', 'openai/llama3'],
    ['the name `default`, offline', development, 'default', 'offline/offline'],
    ['a bare name', key, 'gpt-4.1', 'openai/gpt-4.1'],
    ["a provider's model", key, 'openai/gpt-4.1', 'openai/gpt-4.1'],
    ['a provider that is not here', key, 'anthropic/claude', 'openai/gpt-4o-mini (substituted)'],
    [
      'a provider that is not here, offline',
      development,
      'openai/gpt-4o-mini',
      'offline/offline (substituted)',
    ],
    ['a bare name, offline', development, 'gpt-4o', 'offline/offline (substituted)'],
    [
      'a default that is not served, in development',
      { ...development, defaultModel: 'openai/gpt-4o' },
      undefined,
      'offline/offline (substituted)',
    ],
    [
      'the offline model in development',
      { ...development, ...key },
      'offline/offline',
      'offline/offline',
    ],
    [
      'the offline model as the explicit default',
      { defaultModel: 'offline/offline' },
      undefined,
      'offline/offline',
    ],
    [
      'the offline model on a deployment',
      key,
      'offline/offline',
      'openai/gpt-4o-mini (substituted)',
    ],
  ])('%s', (_name, config, name, expected) => {
    expect(selected(config, name)).toBe(expected)
  })

  it('fails with what to set when nothing is configured', () => {
    for (const name of [undefined, 'gpt-4o', 'offline/offline']) {
      expect(() => models({}).provider.select(name)).toThrow(
        expect.objectContaining({
          code: 'model_not_configured',
          message: expect.stringContaining('OPENAI_API_KEY'),
        }),
      )
    }
    expect(() => models({ defaultModel: 'openai/gpt-4o' }).provider.select(undefined)).toThrow(
      /openai\/gpt-4o/,
    )
  })
})

it('lists the default and the offline model, without asking any server', () => {
  expect(models({ ...key, ...development }).list()).toEqual([
    { id: 'openai/gpt-4o-mini', provider: 'openai' },
    { id: 'offline/offline', provider: 'offline' },
  ])
  expect(models(development).list()).toEqual([{ id: 'offline/offline', provider: 'offline' }])
  expect(models({}).list()).toEqual([])
  expect(asked).toEqual([])
})

it('hands a request on with the name the service knows', async () => {
  const options = callOptions()
  const request = { model: 'openai/gpt-4.1', messages: [], tools: [], parameters: {} }
  await models(key)
    .provider.generate(request, options)
    .catch(() => {})
  expect(asked).toMatchObject([{ model: 'gpt-4.1' }])
  expect(models(key).provider.estimate(request).costNanoUsd).toBeGreaterThan(0)
})

it('sends nothing when no model can answer', async () => {
  let sent = 0
  const options = callOptions({ onSent: () => (sent += 1) })
  const request = { model: undefined, messages: [], tools: [], parameters: {} }
  await expect(models({}).provider.generate(request, options)).rejects.toMatchObject({
    code: 'model_not_configured',
  })
  expect(sent).toBe(0)
})
