// isola schedule …: work that begins by the clock.
import type { Reply, Request } from '../src/client/client.ts'
import {
  triggeredVerbs,
  headOf,
  outcomeOf,
  ownerOf,
  pausedText,
  todayText,
  type Schedule,
} from './subscription.ts'
import { noun, on, verb, type Context } from './command.ts'
import {
  count,
  dryRun,
  flag,
  text,
  texts,
  toJson,
  whose,
  type ValuesOf,
  UsageError,
} from './options.ts'
import { lines, listed, short, time } from './text.ts'

type Slot = Reply<'GET /api/schedules/:id/history'>['slots'][number]
type Body = Request<'POST /api/schedules'>['body']

const minuteMs = 60_000
const shownSlots = 5

/** When it is due, as a person would write it. */
function whenOf({ when }: Schedule): string {
  if ('cron' in when) return `${when.cron} ${when.timeZone}`
  if ('everyMs' in when) return `every ${when.everyMs / minuteMs} min`
  return `${when.atMs.length} ${when.atMs.length === 1 ? 'moment' : 'moments'}`
}

const slotsOf = ({ next }: Schedule) => next.slice(0, shownSlots).map((slot) => `  ${time(slot)}`)
function described(one: Schedule): string {
  const { work, check, deliver, catchUp, overlap, heartbeat, next } = one
  const to = [deliver.to, deliver.session, deliver.url].filter(Boolean).join(' ')
  const has = check?.has === undefined ? 'says so' : `answers any ${check.has}`
  return lines(
    headOf(one),
    `  ${short(work.task ?? `${work.tool} without a model`, 200)}`,
    `  ${whenOf(one)}; catch-up ${catchUp}, overlap ${overlap}; tells ${to}`,
    check && `  only if ${check.tool} ${has}`,
    heartbeat && '  a heartbeat: in one session of its own',
    pausedText(one),
    todayText(one, 'firings'),
    next.length > 0 && ['next slots:', ...slotsOf(one)],
  )
}

function toDollars(given: string, option: string): number {
  if (/^\d{1,7}(\.\d{1,9})?$/.test(given)) return Number(given)
  throw new UsageError(`${option} is an amount in dollars, such as 0.5, not ${short(given, 40)}.`)
}

function toDelivery(to: string): Body['deliver'] {
  if (to === 'none' || to === 'principal') return { to }
  if (to.startsWith('ses_')) return { to: 'session', session: to }
  if (to.startsWith('https://')) return { to: 'webhook', url: to }
  throw new UsageError(
    '--deliver is none, principal, the id of a session or an https address; there are no channels yet.',
  )
}

const ownOptions = {
  name: text('name', 'what it is called'),
  cron: text('expression', 'five fields, such as "0 9 * * 1-5"', { to: 'when.cron' }),
  zone: text('zone', 'IANA time zone of --cron; yours if absent', { to: 'when.timeZone' }),
  every: count('minutes', 'instead: every so many minutes', { to: 'when.everyMinutes' }),
  hours: text('from-to', 'of --every: only within, such as 8-22', { to: 'when.hours' }),
  at: texts('moment', 'instead: once, with its offset', { to: 'when.at' }),
  agent: text('name', 'who works; the orchestrator if absent'),
  model: text('name'),
  tool: text('name', 'instead of a task: one call, without a model'),
  input: text('json', 'of --tool', { read: toJson }),
  check: text('tool', 'asked first: only `shouldRun: true` goes on', { to: 'check.tool' }),
  'check-input': text('json', 'of --check', { to: 'check.input', read: toJson }),
  'check-has': text('field', 'instead: a field that holds something', { to: 'check.has' }),
  heartbeat: flag('in one session of its own, silent where nothing is'),
  'catch-up': text('skip|once|all', 'of slots that were not fired in time'),
  'not-after': count('minutes', 'a slot that is later is missed', { to: 'notAfterMinutes' }),
  overlap: text('skip|queue', 'a slot while an earlier one works'),
  jitter: count('seconds', 'comes up to so much later', { to: 'jitterSeconds' }),
  'daily-runs': count('n', 'so many firings a day at most', { to: 'daily.runs' }),
  'daily-tokens': count('n', undefined, { to: 'daily.tokens' }),
  'daily-cost': text('dollars', undefined, { to: 'daily.costUsd', read: toDollars }),
  failures: count('n', 'pauses itself after so many in a row', { to: 'stopAfterFailures' }),
  deliver: text(
    'where',
    'none, principal (your notices), the id of a session, or an https address',
    {
      read: toDelivery,
    },
  ),
  ...dryRun,
}
/** Options that are about another option have it beside them. */
function checked({ values }: Context<ValuesOf<typeof ownOptions>>) {
  const { cron, zone, every, hours, at: moments, check } = values
  if ([cron, every, moments].filter((one) => one !== undefined).length > 1)
    throw new UsageError('--cron, --every and --at exclude each other.')
  if (zone !== undefined && cron === undefined && hours === undefined)
    throw new UsageError('--zone goes with --cron, or with --hours.')
  if (hours !== undefined && every === undefined) throw new UsageError('--hours goes with --every.')
  if (check === undefined && (values['check-input'] ?? values['check-has']))
    throw new UsageError('--check-input and --check-has go with --check.')
  return {}
}

const removable: Readonly<Record<string, string>> = {
  check: 'check',
  'not-after': 'notAfterMinutes',
  limits: 'limits',
}
const withoutFields = (names: readonly string[]) =>
  Object.fromEntries(
    names.map((name) => {
      if (Object.hasOwn(removable, name)) return [removable[name], null]
      throw new UsageError(
        `--without is ${Object.keys(removable).join(', ')}, not ${short(name, 40)}.`,
      )
    }),
  )

const told = ({ to, state, error }: NonNullable<Slot['delivery']>) =>
  `${to}: ${state}${error === undefined || state === 'delivered' ? '' : `, ${short(error, 60)}`}`
/** Shows a setting of one's own, or sets it. */
const setting = (
  name: 'timeZone' | 'language',
  usage: string,
  about: string,
  says: (settings: Reply<'GET /api/settings'>) => string,
) =>
  verb({
    usage,
    about,
    async run({ args: [value], ask, print }) {
      const settings =
        value === undefined
          ? await ask('GET /api/settings')
          : await ask('POST /api/settings', { [name]: value })
      print(settings, says(settings))
    },
  })

const ofSchedules = triggeredVerbs<Schedule>('/api/schedules', {
  usage: '<schedule>',
  says: described,
  meanwhile: 'What is due meanwhile is skipped.',
  again: 'It goes on with the next slot.',
})

export default noun('schedule', {
  add: on('POST /api/schedules', {
    usage:
      '[<task>] (--cron <expression> [--zone <zone>] | --every <minutes> | --at <moment>…) [options]',
    about:
      'Has an agent do a task by the clock, or calls a tool. With --dry-run the next slots are printed, and ' +
      'nothing is made.',
    options: {
      plugin: text('id', 'instead: what its manifest schedules, for you'),
      ...ownOptions,
    },
    sends: checked,
    says: described,
    would: (made: Schedule) => lines('Would be made, and due at:', slotsOf(made)),
  }),
  edit: on('POST /api/schedules/:id', {
    usage: '<schedule> [<task>] [options]',
    about:
      'Changes what is named. Its next slot changes only with its times, and none that is due is lost. With ' +
      '--dry-run it is only shown.',
    options: {
      without: texts('check|not-after|limits', undefined, { to: null, fields: withoutFields }),
      ...ownOptions,
    },
    sends: checked,
    says: described,
    would: 'Would be:\n',
  }),
  list: on('GET /api/schedules', {
    about: 'Your schedules with their next slots. To list them moves none.',
    options: whose,
    says: ({ schedules }) =>
      listed(schedules, 'No schedules.', {
        schedule: 'id',
        name: ({ name }) => short(name, 40),
        of: ownerOf,
        state: 'state',
        when: whenOf,
        next: ({ next: [next], paused }) => (next === undefined ? paused?.reason : time(next)),
      }),
  }),
  show: on('GET /api/schedules/:id', {
    usage: '<schedule>',
    about: 'All of one, with its next slots.',
    says: described,
  }),
  history: on('GET /api/schedules/:id/history', {
    usage: '<schedule>',
    about: 'What became of each slot: done, failed, missed or skipped, and whether it was told.',
    options: { limit: count('n', '1 to 500') },
    says: ({ slots }) =>
      listed(slots, 'No slot yet.', {
        slot: ({ slotMs }) => time(slotMs),
        state: ({ state, isManual }) => (isManual ? `${state} (asked for)` : state),
        told: ({ delivery }) => delivery && told(delivery),
        tokens: 'tokens',
        'what came of it': outcomeOf,
      }),
  }),
  pause: ofSchedules.pause,
  resume: ofSchedules.resume,
  run: on('POST /api/schedules/:id/run', {
    usage: '<schedule>',
    about: 'Fires it now, beside its slots.',
    sends: {},
    says: (_slot, { args: [id] }) => `It is on its way: isola schedule history ${short(id)}`,
  }),
  notices: verb({
    usage: '[<notice>]',
    about: 'What schedules had to tell you; with an id, takes that one away.',
    async run({ args: [id], ask, print }) {
      if (id !== undefined)
        return print(await ask('DELETE /api/notices/:notice'), `${short(id)} is taken away.`)
      const answer = await ask('GET /api/notices')
      const told = answer.notices.map(
        (one) => `${time(one.atMs)}  ${one.name}  (${one.id})\n${one.text}`,
      )
      print(answer, told.join('\n\n') || 'No notices.')
    },
  }),
  zone: setting(
    'timeZone',
    '[<zone>]',
    'Your time zone, or a new one: it holds for schedules that are made from then on.',
    ({ timeZone }) => `Your time zone is ${timeZone}.`,
  ),
  language: setting(
    'language',
    '[<tag>]',
    'What schedules tell you is in it: de, pt-BR.',
    ({ language = 'not set: what schedules tell you is in that of their task' }) =>
      `Your language is ${language}.`,
  ),
  remove: ofSchedules.remove,
})
