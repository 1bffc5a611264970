// isola model list: what may be asked, what it costs, and how much it takes.
import type { Reply } from '../src/client/client.ts'
import { noun, verb } from './command.ts'
import { listed } from './text.ts'

type Model = Reply<'GET /api/operator/models'>['now'][number]
interface Price {
  readonly inputUsdPerMillion: number
  readonly outputUsdPerMillion: number
}

const per = ({ inputUsdPerMillion: input, outputUsdPerMillion: output }: Price) =>
  `$${input} / $${output}`

function costOf({ price }: Model): string {
  if (!price) return 'not known'
  const above = (price.above ?? []).map((one) => `${per(one)} above ${one.inputTokens}`)
  return [per(price), ...above].join('; ')
}

export default noun('model', {
  list: verb({
    about:
      'The models that can be named here, with price, window and where each is known from; in tokens and US dollars.',
    async run({ ask, print }) {
      const { now: models } = await ask('GET /api/operator/models')
      const text = listed(models, 'There is no model.', {
        model: 'id',
        'input / output per million': costOf,
        window: ({ window, capabilities }) => window?.contextTokens ?? capabilities.contextTokens,
        output: ({ window }) => window?.maxOutputTokens,
        from: ({ price, window }) =>
          [...new Set([price?.source ?? 'none', ...(window ? [window.source] : [])])].join('; '),
      })
      const hint = models.some(({ price }) => !price)
        ? '\n\nWithout a price a model is not asked under a cost limit: give one in ISOLA_PRICES (docs/models.md).'
        : ''
      print({ models }, text + hint)
    },
  }),
})
