// What `isola schedule add` and `edit` send, of their options.
import type { Request } from '../../src/client/client.ts'
import { defined } from '../../src/contracts/defined.ts'
import type { JsonObject } from '../../src/contracts/json.ts'
import { dryRun, type Options, type ValuesOf } from './command.ts'
import { short } from './text.ts'
import { toNumber } from './to-number.ts'
import { UsageError } from './usage.ts'

export const ownOptions = {
  name: { type: 'string', value: 'name', about: 'what it is called' },
  cron: { type: 'string', value: 'expression', about: 'five fields, such as "0 9 * * 1-5"' },
  zone: { type: 'string', value: 'zone', about: 'IANA time zone of --cron; yours if absent' },
  every: { type: 'string', value: 'minutes', about: 'instead: every so many minutes' },
  hours: { type: 'string', value: 'from-to', about: 'of --every: only within, such as 8-22' },
  at: { type: 'string', multiple: true, value: 'moment', about: 'instead: once, with its offset' },
  agent: { type: 'string', value: 'name', about: 'who works; the orchestrator if absent' },
  model: { type: 'string', value: 'name' },
  tool: { type: 'string', value: 'name', about: 'instead of a task: one call, without a model' },
  input: { type: 'string', value: 'json', about: 'of --tool' },
  check: { type: 'string', value: 'tool', about: 'asked first: only `shouldRun: true` goes on' },
  'check-input': { type: 'string', value: 'json', about: 'of --check' },
  'check-has': { type: 'string', value: 'field', about: 'instead: a field that holds something' },
  heartbeat: { type: 'boolean', about: 'in one session of its own, silent where nothing is' },
  'catch-up': { type: 'string', value: 'skip|once|all', about: 'of slots nobody fired in time' },
  'not-after': { type: 'string', value: 'minutes', about: 'a slot that is later is missed' },
  overlap: { type: 'string', value: 'skip|queue', about: 'a slot while an earlier one works' },
  jitter: { type: 'string', value: 'seconds', about: 'comes up to so much later' },
  'daily-runs': { type: 'string', value: 'n', about: 'so many firings a day at most' },
  'daily-tokens': { type: 'string', value: 'n' },
  'daily-cost': { type: 'string', value: 'dollars' },
  failures: { type: 'string', value: 'n', about: 'pauses itself after so many in a row' },
  deliver: {
    type: 'string',
    value: 'where',
    about: 'none, principal (your notices), the id of a session, or an https address',
  },
  ...dryRun,
} as const satisfies Options
type Values = ValuesOf<typeof ownOptions>
export type Body = Request<'POST /api/schedules'>['body']

function whenIn({ cron, zone, every, hours, at = [] }: Values): Body['when'] {
  const given = [cron, every, at[0]].filter((one) => one !== undefined)
  if (given.length > 1) throw new UsageError('--cron, --every and --at exclude each other.')
  if (zone !== undefined && cron === undefined && hours === undefined)
    throw new UsageError('--zone goes with --cron, or with --hours.')
  if (hours !== undefined && every === undefined) throw new UsageError('--hours goes with --every.')
  const timeZone = zone === undefined ? {} : { timeZone: zone }
  if (cron !== undefined) return { cron, ...timeZone }
  if (every !== undefined) {
    const within = hours === undefined ? {} : { hours, ...timeZone }
    return { everyMinutes: toNumber('--every', every), ...within }
  }
  return at.length > 0 ? { at: [...at] } : undefined
}

function toDollars(name: string, text: string): number {
  if (/^\d{1,7}(\.\d{1,9})?$/.test(text)) return Number(text)
  throw new UsageError(`--${name} is an amount in dollars, such as 0.5, not ${short(text, 40)}.`)
}

function deliverIn(text: string): Body['deliver'] {
  if (text === 'none' || text === 'principal') return { to: text }
  if (text.startsWith('ses_')) return { to: 'session', session: text }
  if (text.startsWith('https://')) return { to: 'webhook', url: text }
  throw new UsageError(
    '--deliver is none, principal, the id of a session or an https address; there are no channels yet.',
  )
}

function inputIn(option: string, text: string): JsonObject {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`--${option} is a JSON object, such as {"key":"a"}.`)
  }
}

function checkIn({ check, 'check-input': input, 'check-has': has }: Values): Body['check'] {
  if (check !== undefined)
    return {
      tool: check,
      ...(input !== undefined && { input: inputIn('check-input', input) }),
      ...defined({ has }),
    }
  if (input ?? has) throw new UsageError('--check-input and --check-has go with --check.')
  return undefined
}

const texts = ['name', 'agent', 'model', 'tool'] as const

export function bodyOf(task: string | undefined, values: Values) {
  const given = texts.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]]))
  const { input, deliver, jitter, failures, 'daily-tokens': tokens, 'daily-cost': cost } = values
  const check = checkIn(values)
  const { 'catch-up': catchUp, overlap, 'not-after': notAfter, 'daily-runs': runs } = values
  const when = whenIn(values)
  return {
    ...Object.fromEntries(given),
    ...defined({ task, when }),
    ...(input !== undefined && { input: inputIn('input', input) }),
    ...defined({ check }),
    // What these may be, the server says.
    ...(catchUp !== undefined && { catchUp: catchUp as 'once' }),
    ...(overlap !== undefined && { overlap: overlap as 'skip' }),
    ...(notAfter !== undefined && { notAfterMinutes: toNumber('--not-after', notAfter) }),
    ...(jitter !== undefined && { jitterSeconds: toNumber('--jitter', jitter) }),
    ...(failures !== undefined && { stopAfterFailures: toNumber('--failures', failures) }),
    ...([runs, tokens, cost].some((one) => one !== undefined) && {
      daily: {
        ...(runs !== undefined && { runs: toNumber('--daily-runs', runs) }),
        ...(tokens !== undefined && { tokens: toNumber('--daily-tokens', tokens) }),
        ...(cost !== undefined && { costUsd: toDollars('daily-cost', cost) }),
      },
    }),
    ...(deliver !== undefined && { deliver: deliverIn(deliver) }),
    ...(values.heartbeat && { heartbeat: true }),
    ...(values['dry-run'] && { dryRun: true }),
  }
}

/** Of lists, and of what may be paused; subscriptions are listed and paused alike. */
export const listOptions = {
  principal: { type: 'string', value: 'name', about: "another's; for operators and auditors" },
  all: { type: 'boolean', about: "everybody's; for operators and auditors" },
} as const satisfies Options
export const pauseOptions = {
  reason: { type: 'string', value: 'text', about: 'told to whoever looks' },
} as const satisfies Options
