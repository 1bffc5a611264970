// isola http list|allow|deny: which hosts the http tools may reach.
import { openingHint } from '../scripts/network.mjs'
import { noun, on, verb } from './command.ts'
import { text, UsageError } from './options.ts'
import { lines } from './text.ts'

function toElsewhere(given: string, option: string): string {
  if (given === 'ask' || given === 'deny') return given
  throw new UsageError(`${option} must be ask or deny, not ${given}.`)
}

/** @param list Which list of the request the hosts belong into. */
const change = (list: 'allow' | 'deny', about: string) =>
  verb({
    usage: '[<host>…] [--elsewhere ask|deny]',
    about,
    options: {
      elsewhere: text('ask|deny', 'what becomes of calls to other hosts', { read: toElsewhere }),
    },
    async run({ args, values, ask, print, sent }) {
      if (args.length === 0 && !values.elsewhere) throw new UsageError('<host>: give one at least.')
      const answer = await ask('POST /api/operator/http', { ...sent(), [list]: [...args] })
      print(answer, lines(answer.notes, `Generation ${answer.generation}.`))
    },
  })

export default noun('http', {
  list: on('GET /api/operator/http', {
    about: 'Which hosts the http tools may reach.',
    says: ({ hosts, elsewhere }) =>
      lines(
        hosts.length === 0 ? `No host is open to the http tools. ${openingHint}` : hosts,
        elsewhere === 'ask'
          ? 'To any other host: a person is asked; without one, denied.'
          : 'To any other host: denied.',
      ),
  }),
  allow: change(
    'allow',
    'Opens hosts: example.com, *.example.com (not example.com itself), * for every public one, and in development\n' +
      'localhost:3000. For all principals, from the next call; what changes something is asked about all the same.\n' +
      '--elsewhere deny: no person may approve a single call to another host.',
  ),
  deny: change('deny', 'Closes hosts that were allowed, as `isola http list` names them.'),
})
