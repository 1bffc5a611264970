import { describe, expect, it } from 'vitest'
import { providerSettings, toModelServers } from '../../../src/platform/models/types.ts'

const backup = {
  id: 'backup',
  base_url: 'https://models.example/v1',
  api_key_secret_name: 'BACKUP_KEY',
  models: [
    {
      name: 'large',
      context_tokens: 100_000,
      images: true,
      tools: true,
      structured_output: false,
      input_usd_per_million: 1.5,
      output_usd_per_million: 6,
    },
    { name: 'small' },
  ],
}
const problemsOf = (value: unknown): readonly string[] =>
  (
    providerSettings.safeParse(typeof value === 'string' ? value : JSON.stringify(value)).error
      ?.issues ?? []
  ).map(({ path, message }) => `${path.join('.')}: ${message}`)

describe('I6: ISOLA_PROVIDERS', () => {
  it('names servers, their keys by the name of a secret, and what their models can do', () => {
    const settings = providerSettings.parse(
      JSON.stringify([
        { ...backup, public: true },
        { id: 'local', base_url: 'http://localhost:11434/v1' },
      ]),
    )
    const secrets: Record<string, string> = { BACKUP_KEY: 'sk-backup' }
    expect(toModelServers(settings, (name) => secrets[name])).toEqual([
      {
        id: 'backup',
        baseUrl: 'https://models.example/v1',
        apiKey: 'sk-backup',
        isPublic: true,
        models: [
          {
            name: 'large',
            contextTokens: 100_000,
            images: true,
            tools: true,
            structuredOutput: false,
            price: { inputUsdPerMillion: 1.5, outputUsdPerMillion: 6 },
          },
          { name: 'small' },
        ],
      },
      { id: 'local', baseUrl: 'http://localhost:11434/v1', models: [] },
    ])
  })

  it.each([undefined, '', '  ', '[]'])('may be left out (%j)', (text) => {
    expect(providerSettings.parse(text)).toEqual([])
  })

  it.each([
    ['no JSON', '{', ': is not JSON'],
    ['no list', {}, ': Invalid input'],
    ['an unknown field', [{ ...backup, api_key: 'sk-secret' }], '0: Unrecognized key'],
    ['a bad id', [{ ...backup, id: 'Back Up' }], '0.id: must be lowercase words'],
    ['an id that is built in', [{ ...backup, id: 'workers-ai' }], '0.id: is built in'],
    ['an id twice', [backup, backup], '1.id: is there twice: backup'],
    ['a URL that is none', [{ ...backup, base_url: 'models.example' }], '0.base_url: Invalid URL'],
    [
      'another protocol',
      [{ ...backup, base_url: 'file:///etc/passwd' }],
      '0.base_url: Invalid URL',
    ],
    [
      'a key instead of a name',
      [{ ...backup, api_key_secret_name: 'sk-secret' }],
      '0.api_key_secret_name: must be the name',
    ],
    [
      'a secret of ours',
      [{ ...backup, api_key_secret_name: 'ISOLA_OPERATOR_KEY' }],
      '0.api_key_secret_name: may not be',
    ],
    [
      'a size that is none',
      [{ ...backup, models: [{ name: 'm', context_tokens: 0 }] }],
      '0.models.0.context_tokens: Too small',
    ],
    [
      'half a price',
      [{ ...backup, models: [{ name: 'm', input_usd_per_million: 1 }] }],
      '0.models.0: needs both prices',
    ],
  ])('refuses %s and names the place', (_what, value, problem) => {
    const problems = problemsOf(value)
    expect(problems[0]).toContain(problem)
    expect(problems.join()).not.toContain('sk-secret')
  })

  it.each([undefined, '', 7])(
    'refuses a key that is not there (%j), and says how to set it',
    (value) => {
      const settings = providerSettings.parse(JSON.stringify([backup]))
      expect(() => toModelServers(settings, () => value)).toThrow(
        expect.objectContaining({
          code: 'config_invalid',
          message: expect.stringMatching(/ISOLA_PROVIDERS\.0\.api_key_secret_name: .*BACKUP_KEY/),
        }),
      )
    },
  )
})
