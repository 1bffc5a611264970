import { expect, it } from 'vitest'
import { clientOf } from '../../fakes/app-client.ts'
import command from '../../../cli/model.ts'
import { createFakeApp } from '../../fakes/http-deps.ts'
import { runVerb } from '../../fakes/run-verb.ts'
import { createWorld } from '../models/upstreams.ts'

it('isola model list shows price, window and where each is from', async () => {
  const { models } = createWorld(
    {},
    {
      defaultModel: 'openai/gpt-4o-mini, local/llama, own/m, openai/gemini-2.5-pro',
      openaiBaseUrl: 'https://gateway.example/v1',
      servers: [
        { id: 'local', baseUrl: 'http://local/v1', models: [] },
        {
          id: 'own',
          baseUrl: 'http://own/v1',
          models: [
            {
              name: 'm',
              contextTokens: 8_000,
              price: { inputUsdPerMillion: 0.5, outputUsdPerMillion: 1 },
            },
          ],
        },
      ],
      prices: { 'gpt-4o-mini': { inputUsdPerMillion: 7, outputUsdPerMillion: 8 } },
      isDevelopment: true,
    },
  )
  const { send } = createFakeApp({ deps: { models } })
  let json: { models?: readonly { id: string }[] } = {}
  let text = ''
  await runVerb(command.verbs.list, {
    request: clientOf(send).request,
    print: (value: unknown, lines: string) => ([json, text] = [Object(value), lines]),
  })
  const of = (id: string) => text.split('\n').find((line) => line.startsWith(id))
  const file = /BerriAI\/litellm@[0-9a-f]{9} \((of|read on) 20\d\d-\d\d-\d\d\)/
  // The operator's price comes first, the window is still known.
  expect(of('openai/gpt-4o-mini')).toMatch(/\$7 \/ \$8 +128000 +16384 +ISOLA_PRICES; /)
  expect(of('local/llama')).toMatch(/not known +none$/)
  expect(of('own/m')).toMatch(/\$0\.5 \/ \$1 +8000 +ISOLA_PROVIDERS$/)
  expect(of('openai/gemini-2.5-pro')).toMatch(/above 200000/)
  expect(of('openai/gemini-2.5-pro')).toMatch(file)
  expect(of('offline/offline')).toMatch(/\$0 \/ \$0 .*built in/)
  expect(text).toContain('ISOLA_PRICES (docs/models.md)')
  expect(json.models?.find(({ id }) => id === 'own/m')).toMatchObject({
    price: { inputUsdPerMillion: 0.5, outputUsdPerMillion: 1, source: 'ISOLA_PROVIDERS' },
    window: { contextTokens: 8_000, source: 'ISOLA_PROVIDERS' },
  })
})
