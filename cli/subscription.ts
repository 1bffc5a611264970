// isola subscription …: work that events begin.

import type { Reply } from '../src/client/client.ts'
import { on, noun } from './command.ts'
import { rehearsal, text, count, dryRun, flag, texts, whose, UsageError } from './options.ts'
import { dollars, short, time, lines, listed } from './text.ts'

// The verbs and lines that schedules and subscriptions share: both begin work, are paused, go on, and are removed.

export type Schedule = Reply<'GET /api/schedules/:id'>
type Subscription = Reply<'GET /api/subscriptions/:id'>
type Either = Schedule | Subscription

export const headOf = ({ id, name, state }: Either) => `${id}  ${name}  ${state}`
export const pausedText = ({ paused }: Either) =>
  paused && `  paused ${time(paused.atMs)} by ${paused.by}: ${paused.reason}`
export const todayText = ({ today, daily }: Either, what: string) =>
  `  today ${today.runs} of ${daily.runs} ${what}, ${today.tokens} tokens, ${dollars(today.costUsd)}`
export const ownerOf = ({ owner }: Either) => owner.replace(/^principal:/, '')

/** Why it ended so, or what it said. */
export const outcomeOf = (end: {
  readonly reason?: string | undefined
  readonly text?: string | undefined
}) => short(end.reason ?? end.text ?? '', 80)

/** The verbs that schedules and subscriptions share. */
export const triggeredVerbs = <Of extends Either>(
  path: '/api/schedules' | '/api/subscriptions',
  verbs: {
    readonly usage: string
    readonly says: (one: Of) => string
    readonly meanwhile: string
    readonly again: string
  },
) => {
  const one = `${path}/:id` as '/api/schedules/:id'
  const { usage, meanwhile, again } = verbs
  const says = verbs.says as (one: Either) => string
  return {
    pause: on(`POST ${one}/pause`, {
      usage,
      about: meanwhile,
      options: { reason: text('text', 'shown with it') },
      sends: {},
      says,
    }),
    resume: on(`POST ${one}/resume`, { usage, about: again, sends: {}, says }),
    remove: on(`DELETE ${one}`, {
      usage,
      about: 'Takes it away with its history. What has begun goes on.',
      options: rehearsal,
      asks: (id) => `Remove ${id} and its history?`,
      says: (_gone, { args: [id] }) => `${id} is removed.`,
      would: (found: Either) => `Would be removed:\n${says(found)}`,
      reads: `GET ${one}`,
    }),
  }
}

const described = (one: Subscription): string =>
  lines(
    headOf(one),
    `  ${short(one.task, 200)}`,
    `  by ${one.event}${one.where ? ` where ${JSON.stringify(one.where)}` : ''}, of ` +
      `${one.of === 'own' ? 'your own sessions' : 'all sessions'}; run by ${one.agent}`,
    `  at most ${one.maxDepth} runs one after the other, within ${one.ttlMinutes} min of an event`,
    pausedText(one),
    todayText(one, 'runs'),
  )

/** `field=value`, where numbers and yes or no are written as they are in JSON. */
function toFields(pairs: readonly string[]) {
  const entries = pairs.map((pair): [string, string | number | boolean] => {
    const at = pair.indexOf('=')
    if (at < 1) throw new UsageError('--where is <field>=<value>, such as --where amount=5.')
    const value = pair.slice(at + 1)
    const isJson = /^(true|false|-?\d+(\.\d+)?)$/.test(value)
    return [pair.slice(0, at), isJson ? JSON.parse(value) : value]
  })
  return Object.fromEntries(entries)
}

const ofSubscriptions = triggeredVerbs<Subscription>('/api/subscriptions', {
  usage: '<subscription>',
  says: described,
  meanwhile: 'What is emitted meanwhile is not heard.',
  again: 'It hears again.',
})

export default noun('subscription', {
  add: on('POST /api/subscriptions', {
    usage: '<event> <task> [options]',
    about:
      'Has an agent do a task by each event: ' +
      'a plugin’s (billing.paid, billing.*), or ours (isola.run_finished, …).',
    options: {
      agent: text('name', 'who works; the orchestrator if absent'),
      model: text('name'),
      where: texts(
        'field=value',
        'only where this field of the payload is equal; again for another one',
        {
          readAll: toFields,
        },
      ),
      everybody: flag('events of all sessions; for operators', {
        to: 'of',
        sends: 'everybody',
      }),
      session: text('name', 'all runs in this named session'),
      name: text('name', 'what it is called'),
      ttl: count('minutes', 'so long after an event; 60 if absent', { to: 'ttlMinutes' }),
      depth: count('n', 'runs one after the other; 4 if absent', { to: 'maxDepth' }),
      'daily-runs': count('n', 'so many runs a day; 100 if absent', { to: 'daily.runs' }),
      deliver: text('where', 'none, or principal (your notices)', { to: 'deliver.to' }),
      ...dryRun,
    },
    says: described,
    would: 'Would be made:\n',
  }),
  list: on('GET /api/subscriptions', {
    about: 'Your subscriptions.',
    options: whose,
    says: ({ subscriptions }) =>
      listed(subscriptions, 'No subscriptions.', {
        subscription: 'id',
        name: ({ name }) => short(name, 40),
        of: ownerOf,
        state: 'state',
        event: 'event',
        agent: 'agent',
        today: ({ today, daily }) => `${today.runs} of ${daily.runs}`,
      }),
  }),
  show: on('GET /api/subscriptions/:id', {
    usage: '<subscription>',
    about: 'All of one.',
    says: described,
  }),
  history: on('GET /api/subscriptions/:id/history', {
    usage: '<subscription>',
    about: 'What became of each event: done, failed, or skipped and why.',
    options: {
      limit: count('n', '1 to 500'),
      dead: flag('only what was given up', { to: 'state', sends: 'failed' }),
    },
    says: ({ firings }) =>
      listed(firings, 'Nothing yet.', {
        heard: 'atMs',
        event: ({ event }) => event?.name,
        depth: 'depth',
        state: 'state',
        tokens: 'tokens',
        'what came of it': outcomeOf,
      }),
  }),
  pause: ofSubscriptions.pause,
  resume: ofSubscriptions.resume,
  remove: ofSubscriptions.remove,
})
