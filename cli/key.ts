// isola key …: who may ask, and with which keys.
import type { Reply } from '../src/client/client.ts'
import { noun, on, verb, type Telling } from './command.ts'
import { flag, text, texts, UsageError } from './options.ts'
import { lines, listed, time } from './text.ts'
import { date, duration } from './when.ts'

function toAmount(given: string, option: string): number {
  if (/^\d{1,15}(\.\d{1,9})?$/.test(given)) return Number(given)
  throw new UsageError(`${option}: must be a number, such as 2000000 or 2.50.`)
}
/** `none` takes a limit away. */
const toAmountOrNone = (given: string, option: string) =>
  given === 'none' ? null : toAmount(given, option)

const limitsBy = (read: (given: string, option: string) => number | null) => ({
  'daily-tokens': text(undefined, undefined, { to: 'limits.dailyTokens', read }),
  'daily-cost-usd': text(undefined, undefined, { to: 'limits.dailyCostUsd', read }),
})
const ends = {
  'expires-in': text(undefined, undefined, { to: 'expiresInMs', read: duration }),
  'expires-at': text(undefined, undefined, { to: 'expiresAtMs', read: date }),
}
const names = {
  role: text(),
  agent: texts(undefined, undefined, { to: 'agents' }),
  model: texts(undefined, undefined, { to: 'models' }),
}

const endTime = (ms: number | null) => (ms === null ? 'never' : time(ms))

/** The defaults of a user's key: enough for a day's work, and little to lose with a stolen key. */
const userDays = 90
const userDailyTokens = 1_000_000
const dayMs = 86_400_000

/** Whether an option of a group was given; the one that takes the default away excludes the others. */
function isSet(values: Readonly<Record<string, unknown>>, off: string, names: readonly string[]) {
  const other = names.find((name) => values[name] !== undefined)
  if (values[off] && other) throw new UsageError(`--${off} and --${other} exclude each other.`)
  return values[off] === true || other !== undefined
}

/**
 * Prints the key alone to the standard output, so that `KEY=$(isola key add …)` holds it; remarks go to the error
 * output.
 */
function tell(
  made: Reply<'POST /api/operator/keys'>,
  { isJson, print, stderr }: Telling,
  ...more: readonly (string | false)[]
) {
  print(made, made.key)
  const { id, principal, role, expiresAtMs } = made
  const first =
    `This is the only time the key is shown. It is ${id} of ${principal} (${role}), expires: ` +
    `${endTime(expiresAtMs)}.`
  if (!isJson) stderr.write(`${lines(first, ...more)}\n`)
}

function rightsOf({ limits, ...rights }: Reply<'POST /api/operator/principals/:principal'>) {
  const all = (names: readonly string[] | null) => names?.join(', ') ?? 'all'
  const asDeployed = 'as set for the deployment'
  return lines(
    `${rights.principal} is ${rights.role}.`,
    `agents: ${all(rights.agents)}; models: ${all(rights.models)}`,
    `tokens a day: ${limits.dailyTokens ?? asDeployed}; US dollars a day: ${limits.dailyCostUsd ?? asDeployed}`,
  )
}

export default noun('key', {
  add: verb({
    usage:
      '<principal> [--role operator|author|user|auditor] [--agent <name>]… [--model <name>]…\n' +
      '    [--daily-tokens <n>] [--daily-cost-usd <n>] [--no-limit] [--persona <name>]\n' +
      '    [--expires-in 30d | --expires-at <date> | --no-expiry]\n' +
      `  A user's key ends after ${userDays} days, and a new user has ${userDailyTokens} tokens a day, ` +
      'unless you say otherwise.\n' +
      '  A new principal needs a role; without one it is another key of a principal that is there.\n' +
      '  The key alone is written to the standard output: KEY=$(npx isola key add …)',
    options: {
      ...names,
      ...limitsBy(toAmount),
      'no-limit': flag('of a user: no limit a day of its own', { to: null }),
      persona: text(),
      ...ends,
      'no-expiry': flag('of a user: does not end by itself', { to: null }),
    },
    async run({ args: [principal = ''], values, ask, sent, ...io }) {
      const { role } = values
      const hasEnd = isSet(values, 'no-expiry', Object.keys(ends))
      const hasLimit = isSet(values, 'no-limit', ['daily-tokens', 'daily-cost-usd'])
      const roleOf = async () => {
        const { keys } = await ask('GET /api/operator/keys', { principal, limit: 1 })
        return keys[0]?.role
      }
      const isUser = (role ?? (hasEnd ? '' : await roleOf())) === 'user'
      // The daily limits of a principal that is there stay as they are.
      const isLimited = isUser && role !== undefined && !hasLimit
      const made = await ask('POST /api/operator/keys', {
        principal,
        ...(isLimited && { limits: { dailyTokens: userDailyTokens } }),
        ...(isUser && !hasEnd && { expiresInMs: userDays * dayMs }),
        ...sent(),
      })
      tell(
        made,
        io,
        isUser &&
          !hasEnd &&
          `It ends after ${userDays} days: --no-expiry, --expires-in and --expires-at say otherwise.`,
        isLimited &&
          `It may use ${userDailyTokens} tokens a day: --daily-tokens, --daily-cost-usd and --no-limit say ` +
            `otherwise, isola key change ${principal} later.`,
      )
    },
  }),
  list: on('GET /api/operator/keys', {
    options: { principal: text('name') },
    sends: { limit: 500 },
    says: ({ keys }) =>
      listed(keys, 'No keys. The operator key of the deployment is not on this list.', {
        id: 'id',
        principal: 'principal',
        role: 'role',
        state: 'state',
        'begins with': 'hint',
        expires: ({ expiresAtMs }) => endTime(expiresAtMs),
      }),
  }),
  change: on('POST /api/operator/principals/:principal', {
    usage:
      '<principal> [--role …] [--agent <name>… | --all-agents] [--model <name>… | --all-models]\n' +
      '    [--daily-tokens <n>|none] [--daily-cost-usd <n>|none]\n' +
      '  For each key of the principal; what is not named stays as it is.',
    options: {
      role: names.role,
      agent: names.agent,
      'all-agents': flag(undefined, { to: 'agents', sends: null }),
      model: names.model,
      'all-models': flag(undefined, { to: 'models', sends: null }),
      ...limitsBy(toAmountOrNone),
    },
    sends({ values }) {
      if (Object.keys(values).some((name) => name !== 'json')) return {}
      throw new UsageError('Nothing to change: name a role, an agent, a model or a limit.')
    },
    says: rightsOf,
  }),
  revoke: on('POST /api/operator/keys/:key/revoke', {
    usage: '<key id> [--yes]\n  The key ends with the next request.',
    asks: (id) => `Revoke ${id}?`,
    says: ({ id, principal, revokedAtMs }) =>
      `${id} of ${principal} is revoked since ${time(revokedAtMs)}.`,
  }),
  rotate: verb({
    usage:
      '<key id> [--grace 1h] [--expires-in 30d | --expires-at <date>]\n' +
      '  Makes a new key; the old one ends at once, or after the time of grace.',
    options: {
      grace: text(undefined, undefined, { to: 'graceMs', read: duration }),
      ...ends,
    },
    async run({ ask, sent, ...io }) {
      const body = sent()
      const isAny = Object.keys(body).length > 0
      tell(await ask('POST /api/operator/keys/:key/rotate', isAny ? body : undefined), io)
    },
  }),
})
