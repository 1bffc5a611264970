// isola erasure …: erasing a person from everywhere.
import type { Reply } from '../src/client/client.ts'
import { noun, on, verb } from './command.ts'
import { flag } from './options.ts'
import { lines, listed, table, time } from './text.ts'

type Erasure = Reply<'GET /api/operator/erasures/:erasure'>

function report({ id, principal, state, pass, nextMs, erased, problems }: Erasure): string {
  const places = Object.entries(erased).filter(([, count]) => count > 0)
  return lines(
    state === 'done'
      ? `${id}: done after ${pass} passes; the record has this name for them now.`
      : `${id}: ${principal} is being erased, pass ${pass}${nextMs === undefined ? '' : `, goes on ${time(nextMs)}`}.`,
    places.length > 0 && table([['place', 'erased'], ...places]),
    Object.entries(problems).map(([place, problem]) => `not yet, ${place}: ${problem}`),
  )
}

export default noun('erasure', {
  start: verb({
    usage: '<principal>',
    about: 'Erases a person from everywhere, for good; with --me yourself.',
    asks: ({ args: [principal] }) =>
      `Erase ${principal}, with conversations, memory, schedules and keys, for good?`,
    options: {
      me: flag('yourself: this is the last thing that your key does'),
    },
    async run({ args: [principal], values, ask, print }) {
      const erasure = values.me
        ? await ask('POST /api/erasure', { confirm: principal })
        : await ask('POST /api/operator/erasures', { principal, confirm: principal })
      print(erasure, report(erasure))
    },
  }),
  list: on('GET /api/operator/erasures', {
    says: ({ erasures }) =>
      listed(erasures, 'No principal was erased.', {
        id: 'id',
        principal: 'principal',
        state: 'state',
        passes: 'pass',
        'asked by': 'askedBy',
        asked: 'askedAtMs',
      }),
  }),
  show: on('GET /api/operator/erasures/:erasure', {
    usage: '<id>',
    about: 'How far it is, or what came of it.',
    says: report,
  }),
})
