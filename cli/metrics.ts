// isola metrics show: how agents, tools and models did.
import { noun, verb } from './command.ts'
import { text, UsageError } from './options.ts'
import { dollars, listed } from './text.ts'

const hourMs = 3_600_000
const percent = (share: number | undefined) =>
  share === undefined ? '' : `${(share * 100).toFixed(1)} %`
const codes = ({ failures }: { readonly failures: Readonly<Record<string, number>> }) =>
  Object.entries(failures)
    .map(([code, count]) => `${code} ${count}`)
    .join(', ')
interface Timed {
  readonly latencyMs?: { readonly mean: number; readonly max: number } | undefined
}
const mean = ({ latencyMs }: Timed) => latencyMs && `${latencyMs.mean} ms`
const max = ({ latencyMs }: Timed) => latencyMs && `${latencyMs.max} ms`
const cost = ({ costUsd }: { readonly costUsd: number }) => dollars(costUsd)

export default noun('metrics', {
  show: verb({
    about: 'How agents, tools and models did: success, turns, errors, latency, tokens, cost.',
    options: { hours: text('n', 'how far back; 24 unless set') },
    async run({ values, ask, print }) {
      const { hours = '24' } = values
      if (!/^[1-9]\d{0,2}$/.test(hours) || Number(hours) > 744)
        throw new UsageError('--hours must be 1 to 744.')
      const since = Date.now() - Number(hours) * hourMs
      const answer = await ask('GET /api/operator/metrics', { since, format: 'json' })
      const tables = [
        listed(answer.agents, '', {
          agent: 'agent',
          runs: 'runs',
          success: ({ successRate }) => percent(successRate),
          'turns/run': ({ turnsPerRun }) => turnsPerRun?.toFixed(1),
          'tokens in': 'inputTokens',
          'tokens out': 'outputTokens',
          cost,
        }),
        listed(answer.tools, '', {
          tool: 'tool',
          calls: 'calls',
          errors: ({ errorRate }) => percent(errorRate),
          mean,
          max,
          codes,
        }),
        listed(answer.models, '', {
          model: ({ provider, model }) => `${provider}/${model}`,
          calls: 'calls',
          mean,
          max,
          cost,
          failures: codes,
        }),
      ].filter(Boolean)
      print(answer, tables.join('\n\n') || `Nothing in the last ${hours} hours.`)
    },
  }),
})
