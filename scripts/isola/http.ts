// isola http list|allow|deny: which hosts the http tools may reach.
import { openingHint } from '../network.mjs'
import { UsageError } from './usage.ts'

const path = '/api/operator/http'

const listed = ({ hosts, elsewhere }) =>
  [
    ...(hosts.length === 0 ? [`No host is open to the http tools. ${openingHint}`] : hosts),
    elsewhere === 'ask'
      ? 'To any other host: somebody is asked; where nobody can be, it is denied.'
      : 'To any other host: denied.',
  ].join('\n')

async function list({ request, print }) {
  const answer = await request(path)
  print(answer, listed(answer))
}

/** @param what Which list of the request the hosts belong into. */
const change = (what) =>
  async function run({ args, values, request, print }) {
    const { elsewhere } = values
    if (args.length === 0 && !elsewhere) throw new UsageError('<host>: give one at least.')
    const json = { [what]: args, ...(elsewhere && { elsewhere }) }
    const answer = await request(path, { method: 'POST', json })
    print(answer, [...answer.notes, `Generation ${answer.generation}.`].join('\n'))
  }

const options = {
  elsewhere: { type: 'string', value: 'ask|deny', about: 'what becomes of calls to other hosts' },
}

export default {
  noun: 'http',
  verbs: {
    list: {
      usage: 'isola http list',
      about: 'Which hosts the http tools may reach.',
      options: {},
      run: list,
    },
    allow: {
      usage: 'isola http allow [<host>…] [--elsewhere ask|deny]',
      about:
        'Opens hosts: example.com, *.example.com (not example.com itself), * for every public one, and in development\n' +
        'localhost:3000. For everybody, from the next call; what changes something is asked about all the same.\n' +
        '--elsewhere deny: nobody may approve a single call to another host.',
      options,
      run: change('allow'),
    },
    deny: {
      usage: 'isola http deny [<host>…] [--elsewhere ask|deny]',
      about: 'Closes hosts that were allowed, as `isola http list` names them.',
      options,
      run: change('deny'),
    },
  },
}
