// isola key …: who may ask, and with which keys.
import { table, time } from './text.ts'
import { UsageError } from './usage.ts'
import { date, duration } from './when.ts'

const path = '/api/operator/keys'

function only(args, what) {
  if (args.length === 1) return args[0]
  throw new UsageError(`${what}: give one, there are ${args.length}.`)
}

function amount(name, text) {
  if (text === undefined) return undefined
  if (/^\d{1,15}(\.\d{1,9})?$/.test(text)) return Number(text)
  throw new UsageError(`--${name}: must be a number, such as 2000000 or 2.50.`)
}

/** `none` takes a limit away. */
const amountOrNone = (name, text) => (text === 'none' ? null : amount(name, text))

/** What was given, without the rest; undefined if that is nothing. */
function given(fields) {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

const optional = (read, values, name) =>
  values[name] === undefined ? undefined : read(values[name], name)

const endOf = (values) => ({
  expiresInMs: optional(duration, values, 'expires-in'),
  expiresAtMs: optional(date, values, 'expires-at'),
})

const post = (request, to, json = {}) => request(to, { method: 'POST', json })

const endTime = (ms) => (ms === null ? 'never' : time(ms))

/** The key alone goes to the standard output, so that `KEY=$(isola key add …)` holds it; what is to be said of it does not. */
function tell(made, { isJson, print, stderr }) {
  print(made, made.key)
  if (isJson) return
  const { id, principal, role, expiresAtMs } = made
  stderr.write(
    `This is the only time the key is shown. It is ${id} of ${principal} (${role}), expires: ${endTime(expiresAtMs)}.\n`,
  )
}

function rightsOf({ principal, role, agents, models, limits }) {
  const list = (names) => names?.join(', ') ?? 'all'
  return [
    `${principal} is ${role}.`,
    `agents: ${list(agents)}; models: ${list(models)}`,
    `a day: ${limits.dailyTokens ?? 'as deployed'} tokens, ${limits.dailyCostUsd ?? 'as deployed'} US dollars`,
  ].join('\n')
}

function listed(keys) {
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

const ends = { 'expires-in': { type: 'string' }, 'expires-at': { type: 'string' } }

export default {
  noun: 'key',
  verbs: {
    add: {
      usage:
        'isola key add <principal> [--role operator|author|user|auditor] [--agent <name>]… [--model <name>]…\n' +
        '    [--daily-tokens <n>] [--daily-cost-usd <n>] [--expires-in 30d | --expires-at <date>]\n' +
        '  A new principal needs a role; without one it is another key of a principal that is there.\n' +
        '  The key alone is written to the standard output: KEY=$(npx isola key add …)',
      options: {
        role: { type: 'string' },
        agent: { type: 'string', multiple: true },
        model: { type: 'string', multiple: true },
        'daily-tokens': { type: 'string' },
        'daily-cost-usd': { type: 'string' },
        ...ends,
      },
      async run({ args, values, request, ...io }) {
        const limits = given({
          dailyTokens: amount('daily-tokens', values['daily-tokens']),
          dailyCostUsd: amount('daily-cost-usd', values['daily-cost-usd']),
        })
        const { role, agent: agents, model: models } = values
        const principal = only(args, '<principal>')
        const body = given({ principal, role, agents, models, limits, ...endOf(values) })
        tell(await post(request, path, body), io)
      },
    },
    list: {
      usage: 'isola key list [--principal <name>]',
      options: { principal: { type: 'string' } },
      async run({ args, values, request, print }) {
        if (args.length > 0)
          throw new UsageError(`${args[0]}: to list those of one, use --principal.`)
        const of = values.principal && `&principal=${encodeURIComponent(values.principal)}`
        const page = await request(`${path}?limit=500${of ?? ''}`)
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
        const to = `/api/operator/principals/${encodeURIComponent(principal)}`
        const changed = await post(request, to, body)
        print(changed, rightsOf(changed))
      },
    },
    revoke: {
      usage: 'isola key revoke <key id>\n  The key ends with the next request.',
      options: {},
      async run({ args, request, print }) {
        const id = only(args, '<key id>')
        const key = await post(request, `${path}/${encodeURIComponent(id)}/revoke`)
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
        tell(await post(request, `${path}/${encodeURIComponent(id)}/rotate`, body), io)
      },
    },
  },
}
