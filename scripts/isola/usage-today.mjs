// isola usage show: a principal's day.
import { dollars, table } from './text.mjs'

const tokensOf = ({ tokens }) => (tokens === null ? 'no limit' : String(tokens))
const costOf = ({ costUsd }) => (costUsd === null ? 'no limit' : dollars(costUsd))

async function show({ values, request, print }) {
  const query = new URLSearchParams(values.principal ? { principal: values.principal } : {})
  const answer = await request(`/api/operator/usage?${query}`)
  const { principal, day, limits, settled, reserved, openRuns } = answer
  const row = (name, amount) => [name, tokensOf(amount), costOf(amount)]
  const rows = [row('spent', settled), row('reserved', reserved), row('limit', limits)]
  const head = `${principal}, ${day} (UTC), ${openRuns} open run${openRuns === 1 ? '' : 's'}`
  print(answer, `${head}\n${table([['', 'tokens', 'cost'], ...rows])}`)
}

export default {
  noun: 'usage',
  verbs: {
    show: {
      usage: 'isola usage show [--principal <id>]',
      about:
        "What a principal has spent of its day; nothing is counted where there is no day's limit.",
      options: { principal: { type: 'string', value: 'id', about: 'your own unless named' } },
      run: show,
    },
  },
}
