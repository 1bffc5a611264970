// isola model list: what may be asked, what it costs, and how much it takes.
import type { Reply } from '../../src/client/client.ts'
import { defineVerbs, type Context } from './command.ts'
import { table } from './text.ts'

type Model = Reply<'GET /api/operator/models'>['now'][number]
type Price = Pick<NonNullable<Model['price']>, 'inputUsdPerMillion' | 'outputUsdPerMillion'>

const per = ({ inputUsdPerMillion: input, outputUsdPerMillion: output }: Price) =>
  `$${input} / $${output}`
const above = ({ inputTokens, ...price }: Price & { readonly inputTokens: number }) =>
  `${per(price)} above ${inputTokens}`

function row({ id, price, window, capabilities }: Model) {
  const cost = price ? [per(price), ...(price.above ?? []).map(above)].join('; ') : 'not known'
  const input = window?.contextTokens ?? capabilities.contextTokens
  const from = [...new Set([price?.source ?? 'none', ...(window ? [window.source] : [])])]
  return [id, cost, input, window?.maxOutputTokens, from.join('; ')]
}

async function list({ request, print }: Context) {
  const { now: models } = await request('GET /api/operator/models')
  const head = ['model', 'input / output per million', 'window', 'output', 'from']
  const unpriced = models.some(({ price }) => !price)
  const hint = unpriced
    ? '\n\nWithout a price a model is not asked under a cost limit: give one in ISOLA_PRICES (docs/models.md).'
    : ''
  const text = models.length > 0 ? table([head, ...models.map(row)]) + hint : 'There is no model.'
  print({ models }, text)
}

export default {
  noun: 'model',
  verbs: defineVerbs({
    list: {
      usage: 'isola model list',
      about:
        'The models that can be named here, with price, window and where each is known from; in tokens and US dollars.',
      run: list,
    },
  }),
}
