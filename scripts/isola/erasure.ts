// isola erasure …: erasing a person from everywhere.
import type { Reply } from '../../src/client/client.ts'
import { defineVerbs, type Context, type Options, type ValuesOf } from './command.ts'
import { table, time } from './text.ts'
import { UsageError } from './usage.ts'

type Erasure = Reply<'GET /api/operator/erasures/:erasure'>

const mine = {
  me: { type: 'boolean', about: 'yourself: this is the last thing that your key does' },
} as const satisfies Options

function report({ id, principal, state, pass, nextMs, erased, problems }: Erasure): string {
  const places = Object.entries(erased).filter(([, count]) => count > 0)
  return [
    state === 'done'
      ? `${id}: done after ${pass} passes; the record has this name for them now.`
      : `${id}: ${principal} is being erased, pass ${pass}${nextMs === undefined ? '' : `, goes on ${time(nextMs)}`}.`,
    ...(places.length > 0
      ? [table([['place', 'erased'], ...places.map(([place, count]) => [place, String(count)])])]
      : []),
    ...Object.entries(problems).map(([place, problem]) => `not yet, ${place}: ${problem}`),
  ].join('\n')
}

async function start({
  args: [principal],
  values,
  request,
  print,
}: Context<ValuesOf<typeof mine>>) {
  if (principal === undefined)
    throw new UsageError('Name whom: isola erasure start <principal> [--me].')
  const erasure = values.me
    ? await request('POST /api/erasure', { body: { confirm: principal } })
    : await request('POST /api/operator/erasures', { body: { principal, confirm: principal } })
  print(erasure, report(erasure))
}

async function list({ request, print }: Context) {
  const answer = await request('GET /api/operator/erasures')
  const rows = answer.erasures.map(({ id, principal, state, pass, askedAtMs, askedBy }) => [
    id,
    principal,
    state,
    String(pass),
    askedBy,
    time(askedAtMs),
  ])
  const head = ['id', 'principal', 'state', 'passes', 'asked by', 'asked']
  print(answer, rows.length === 0 ? 'Nobody was erased.' : table([head, ...rows]))
}

async function show({ args: [erasure], request, print }: Context<object, [string]>) {
  const shown = await request('GET /api/operator/erasures/:erasure', { params: { erasure } })
  print(shown, report(shown))
}

export default {
  noun: 'erasure',
  verbs: defineVerbs({
    start: {
      usage: 'isola erasure start <principal> [--me] [--yes]',
      about: 'Erases a person from everywhere, for good; with --me yourself.',
      asks: ({ args: [principal] }: Context<ValuesOf<typeof mine>>) =>
        `Erase ${principal}, with conversations, memory, schedules and keys, for good?`,
      options: mine,
      run: start,
    },
    list: { usage: 'isola erasure list', run: list },
    show: {
      usage: 'isola erasure show <id>',
      about: 'How far it is, or what came of it.',
      run: show,
    },
  }),
}
