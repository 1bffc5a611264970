// isola http list|allow|deny: which hosts the http tools may reach.
import { defined } from '../../src/contracts/defined.ts'
import { openingHint } from '../network.mjs'
import type { Reply } from '../../src/client/client.ts'
import { defineVerbs, type Context, type Options, type ValuesOf } from './command.ts'
import { UsageError } from './usage.ts'

const listed = ({ hosts, elsewhere }: Reply<'GET /api/operator/http'>) =>
  [
    ...(hosts.length === 0 ? [`No host is open to the http tools. ${openingHint}`] : hosts),
    elsewhere === 'ask'
      ? 'To any other host: somebody is asked; where nobody can be, it is denied.'
      : 'To any other host: denied.',
  ].join('\n')

async function list({ request, print }: Context) {
  const answer = await request('GET /api/operator/http')
  print(answer, listed(answer))
}

/** @param what Which list of the request the hosts belong into. */
const change = (what: 'allow' | 'deny') =>
  async function run({ args, values, request, print }: Context<ValuesOf<typeof options>>) {
    const elsewhere = toElsewhere(values.elsewhere)
    if (args.length === 0 && !elsewhere) throw new UsageError('<host>: give one at least.')
    const hosts = [...args]
    const body = {
      ...(what === 'allow' ? { allow: hosts } : { deny: hosts }),
      ...defined({ elsewhere }),
    }
    const answer = await request('POST /api/operator/http', { body })
    print(answer, [...answer.notes, `Generation ${answer.generation}.`].join('\n'))
  }

function toElsewhere(text: string | undefined): 'ask' | 'deny' | undefined {
  if (text === undefined || text === 'ask' || text === 'deny') return text
  throw new UsageError(`--elsewhere must be ask or deny, not ${text}.`)
}

const options = {
  elsewhere: { type: 'string', value: 'ask|deny', about: 'what becomes of calls to other hosts' },
} as const satisfies Options

export default {
  noun: 'http',
  verbs: defineVerbs({
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
  }),
}
