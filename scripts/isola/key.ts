// isola key …: who may ask, and with which keys.
import { defined } from '../../src/contracts/defined.ts'
import type { Reply, Request } from '../../src/client/client.ts'
import { defineVerbs, type Context, type Options, type ValuesOf } from './command.ts'
import { only } from './only.ts'
import { short, table, time } from './text.ts'
import { UsageError } from './usage.ts'
import { date, duration } from './when.ts'

type Issued = Reply<'POST /api/operator/keys'>
type Rights = Reply<'POST /api/operator/principals/:principal'>

function amount(name: string, text: string | undefined) {
  if (text === undefined) return undefined
  if (/^\d{1,15}(\.\d{1,9})?$/.test(text)) return Number(text)
  throw new UsageError(`--${name}: must be a number, such as 2000000 or 2.50.`)
}

/** `none` takes a limit away. */
const amountOrNone = (name: string, text: string | undefined) =>
  text === 'none' ? null : amount(name, text)

/** What was given, without the rest; undefined if that is nothing. */
function given<Fields extends object>(fields: Fields): Partial<Fields> | undefined {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  // Some of the fields, as they were.
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Partial<Fields>)
}

const optional = (
  read: (text: string, name: string) => number,
  values: Readonly<Record<string, unknown>>,
  name: string,
) => (typeof values[name] === 'string' ? read(values[name], name) : undefined)

const endOf = (values: ValuesOf<typeof ends>) => ({
  expiresInMs: optional(duration, values, 'expires-in'),
  expiresAtMs: optional(date, values, 'expires-at'),
})

const endTime = (ms: number | null) => (ms === null ? 'never' : time(ms))

/** What a key of a user is where nothing else is said: enough for a day's work, and no more where it is lost. */
const userDays = 90
const userDailyTokens = 1_000_000
const dayMs = 86_400_000

/** The role of a principal that is there. */
async function roleOf(request: Context['request'], principal: string) {
  const { keys } = await request('GET /api/operator/keys', { query: { principal, limit: 1 } })
  return keys[0]?.role
}

const endOptions = ['expires-in', 'expires-at', 'no-expiry'] as const
const limitOptions = ['daily-tokens', 'daily-cost-usd', 'no-limit'] as const

/** Of several options that exclude each other at most one. */
function oneOf(values: Readonly<Record<string, unknown>>, off: string, names: readonly string[]) {
  const other = names.find((name) => name !== off && values[name] !== undefined)
  if (values[off] && other) throw new UsageError(`--${off} and --${other} exclude each other.`)
  return values[off] === true || other !== undefined
}

/** The key alone goes to the standard output, so that `KEY=$(isola key add …)` holds it; what is to be said of it does not. */
function tell(
  made: Issued,
  { isJson, print, stderr }: Pick<Context, 'isJson' | 'print' | 'stderr'>,
  more: readonly string[] = [],
) {
  print(made, made.key)
  if (isJson) return
  const { id, principal, role, expiresAtMs } = made
  stderr.write(
    `This is the only time the key is shown. It is ${id} of ${principal} (${role}), expires: ${endTime(expiresAtMs)}.\n${more.map((line) => `${line}\n`).join('')}`,
  )
}

const asDeployed = 'as set for the deployment'

function rightsOf({ principal, role, agents, models, limits }: Rights) {
  const list = (names: readonly string[] | null) => names?.join(', ') ?? 'all'
  return [
    `${principal} is ${role}.`,
    `agents: ${list(agents)}; models: ${list(models)}`,
    `tokens a day: ${limits.dailyTokens ?? asDeployed}; US dollars a day: ${limits.dailyCostUsd ?? asDeployed}`,
  ].join('\n')
}

function listed(keys: Reply<'GET /api/operator/keys'>['keys']) {
  if (keys.length === 0) return 'No keys. The operator key of the deployment is not on this list.'
  const rows = keys.map(({ id, principal, role, state, hint, expiresAtMs }) => [
    id,
    principal,
    role,
    state,
    hint,
    endTime(expiresAtMs),
  ])
  return table([['id', 'principal', 'role', 'state', 'begins with', 'expires'], ...rows])
}

const ends = {
  'expires-in': { type: 'string' },
  'expires-at': { type: 'string' },
} as const satisfies Options

/** What a key may be asked to be; what does not fit the server says. */
type Body<Of extends 'POST /api/operator/keys' | 'POST /api/operator/principals/:principal'> =
  Request<Of>['body']

export default {
  noun: 'key',
  verbs: defineVerbs({
    add: {
      usage:
        'isola key add <principal> [--role operator|author|user|auditor] [--agent <name>]… [--model <name>]…\n' +
        '    [--daily-tokens <n>] [--daily-cost-usd <n>] [--no-limit] [--persona <name>]\n' +
        '    [--expires-in 30d | --expires-at <date> | --no-expiry]\n' +
        `  A user's key ends after ${userDays} days, and a new user has ${userDailyTokens} tokens a day, unless you say otherwise.\n` +
        '  A new principal needs a role; without one it is another key of a principal that is there.\n' +
        '  The key alone is written to the standard output: KEY=$(npx isola key add …)',
      options: {
        role: { type: 'string' },
        agent: { type: 'string', multiple: true },
        model: { type: 'string', multiple: true },
        'daily-tokens': { type: 'string' },
        'daily-cost-usd': { type: 'string' },
        'no-limit': { type: 'boolean', about: 'of a user: no limit a day of its own' },
        persona: { type: 'string' },
        ...ends,
        'no-expiry': { type: 'boolean', about: 'of a user: does not end by itself' },
      },
      async run({ args, values, request, ...io }) {
        const limits = given({
          dailyTokens: amount('daily-tokens', values['daily-tokens']),
          dailyCostUsd: amount('daily-cost-usd', values['daily-cost-usd']),
        })
        const { role, agent: agents, model: models, persona } = values
        const principal = only(args, '<principal>')
        const hasEnd = oneOf(values, 'no-expiry', endOptions)
        const hasLimit = oneOf(values, 'no-limit', limitOptions)
        const end = endOf(values)
        const isUser = (role ?? (hasEnd ? '' : await roleOf(request, principal))) === 'user'
        // What a principal that is there may in a day stays as it is.
        const own = isUser && role && !hasLimit ? { dailyTokens: userDailyTokens } : undefined
        const ownEnd = isUser && !hasEnd ? { expiresInMs: userDays * dayMs } : {}
        const body = given({
          principal,
          role,
          agents,
          models,
          limits: limits ?? own,
          persona,
          ...end,
          ...ownEnd,
        })
        const made = await request('POST /api/operator/keys', {
          body: body as Body<'POST /api/operator/keys'>,
        })
        tell(made, io, [
          ...(isUser && !hasEnd
            ? [
                `It ends after ${userDays} days: --no-expiry, --expires-in and --expires-at say otherwise.`,
              ]
            : []),
          ...(own
            ? [
                `It may use ${userDailyTokens} tokens a day: --daily-tokens, --daily-cost-usd and --no-limit say otherwise, isola key change ${principal} later.`,
              ]
            : []),
        ])
      },
    },
    list: {
      usage: 'isola key list [--principal <name>]',
      options: { principal: { type: 'string' } },
      async run({ args, values, request, print }) {
        const [first] = args as readonly string[]
        if (first !== undefined)
          throw new UsageError(`${first}: to list those of one, use --principal.`)
        const { principal } = values
        const query = { limit: 500, ...(principal && { principal }) }
        const page = await request('GET /api/operator/keys', { query })
        print(page, listed(page.keys))
      },
    },
    change: {
      usage:
        'isola key change <principal> [--role …] [--agent <name>… | --all-agents] [--model <name>… | --all-models]\n' +
        '    [--daily-tokens <n>|none] [--daily-cost-usd <n>|none]\n' +
        '  For each key of the principal; what is not named stays as it is.',
      options: {
        role: { type: 'string' },
        agent: { type: 'string', multiple: true },
        'all-agents': { type: 'boolean' },
        model: { type: 'string', multiple: true },
        'all-models': { type: 'boolean' },
        'daily-tokens': { type: 'string' },
        'daily-cost-usd': { type: 'string' },
      },
      async run({ args, values, request, print }) {
        const principal = only(args, '<principal>')
        const limits = given({
          dailyTokens: amountOrNone('daily-tokens', values['daily-tokens']),
          dailyCostUsd: amountOrNone('daily-cost-usd', values['daily-cost-usd']),
        })
        const agents = values['all-agents'] ? null : values.agent
        const models = values['all-models'] ? null : values.model
        const body = given({ role: values.role, agents, models, limits })
        if (!body)
          throw new UsageError('Nothing to change: name a role, an agent, a model or a limit.')
        const changed = await request('POST /api/operator/principals/:principal', {
          params: { principal },
          body: body as Body<'POST /api/operator/principals/:principal'>,
        })
        print(changed, rightsOf(changed))
      },
    },
    revoke: {
      usage: 'isola key revoke <key id> [--yes]\n  The key ends with the next request.',
      options: {},
      asks: ({ args }) => `Revoke ${short(only(args, '<key id>'))}?`,
      async run({ args, request, print }) {
        const id = only(args, '<key id>')
        const key = await request('POST /api/operator/keys/:key/revoke', { params: { key: id } })
        print(key, `${key.id} of ${key.principal} is revoked since ${time(key.revokedAtMs)}.`)
      },
    },
    rotate: {
      usage:
        'isola key rotate <key id> [--grace 1h] [--expires-in 30d | --expires-at <date>]\n' +
        '  Makes a new key; the old one ends at once, or after the time of grace.',
      options: { grace: { type: 'string' }, ...ends },
      async run({ args, values, request, ...io }) {
        const id = only(args, '<key id>')
        const body = given({ graceMs: optional(duration, values, 'grace'), ...endOf(values) })
        tell(
          await request('POST /api/operator/keys/:key/rotate', {
            params: { key: id },
            ...defined({ body }),
          }),
          io,
        )
      },
    },
  }),
}
