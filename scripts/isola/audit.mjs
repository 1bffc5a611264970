// isola audit list: the record.
import { short, time } from './text.mjs'

const names = ['trace', 'session', 'limit', 'after']

/** One record as a line: when, whose, what. */
function line({ atMs, session, run, agent, type, data }) {
  return `${time(atMs)}  ${session}  ${run}  ${agent}  ${type}  ${short(data, 200)}`
}

async function list({ values, request, print }) {
  const query = new URLSearchParams(
    names.flatMap((name) => (values[name] ? [[name, values[name]]] : [])),
  )
  const answer = await request(`/api/operator/audit?${query}`)
  const { records, next } = answer
  const more = next === undefined ? [] : [`More: --after ${next}`]
  print(answer, records.length === 0 ? 'No records.' : [...records.map(line), ...more].join('\n'))
}

export default {
  noun: 'audit',
  verbs: {
    list: {
      usage: 'isola audit list [--trace <id>] [--session <id>] [--limit <n>] [--after <next>]',
      about: 'What happened, in order. Complete a moment after a run ends.',
      options: {
        trace: { type: 'string', value: 'id', about: 'of one trace' },
        session: { type: 'string', value: 'id', about: 'of one session' },
        limit: { type: 'string', value: 'n', about: '1 to 500' },
        after: { type: 'string', value: 'next', about: 'go on where the last list ended' },
      },
      run: list,
    },
  },
}
