// isola key …: who may ask, and with which keys.
const path = '/api/operator/keys'
const units = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Wrong words on the command line: the frame shows the usage and exits with 2. */
function usageError(message) {
  return Object.assign(new Error(message), { exitCode: 2 })
}

function only(args, what) {
  if (args.length === 1) return args[0]
  throw usageError(`${what}: give one, there are ${args.length}.`)
}

/** `30d`, `12h`, `15m` or `90s` in milliseconds; undefined if it was not given. */
function durationMs(name, text) {
  if (text === undefined) return undefined
  const match = /^(\d{1,6})([smhd])$/.exec(text)
  if (match) return Number(match[1]) * units[match[2]]
  throw usageError(`--${name}: must be a number with s, m, h or d, such as 30d.`)
}

function momentMs(name, text) {
  if (text === undefined) return undefined
  const ms = Date.parse(text)
  if (!Number.isNaN(ms)) return ms
  throw usageError(`--${name}: must be a date, such as 2027-01-31 or 2027-01-31T12:00:00Z.`)
}

function amount(name, text) {
  if (text === undefined) return undefined
  if (/^\d{1,15}(\.\d{1,9})?$/.test(text)) return Number(text)
  throw usageError(`--${name}: must be a number, such as 2000000 or 2.50.`)
}

/** `none` takes a limit away. */
const amountOrNone = (name, text) => (text === 'none' ? null : amount(name, text))

/** What was given, without the rest; undefined if that is nothing. */
function given(fields) {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

const endOf = (values) => ({
  expiresInMs: durationMs('expires-in', values['expires-in']),
  expiresAtMs: momentMs('expires-at', values['expires-at']),
})

const post = (request, to, json = {}) => request(to, { method: 'POST', json })

const dateOf = (ms) => (ms === null ? 'never' : new Date(ms).toISOString().slice(0, 16) + 'Z')

/** The key alone goes to the standard output, so that `KEY=$(isola key add …)` holds it; what is to be said of it does not. */
function tell(made, { isJson, print, stderr }) {
  print(made, made.key)
  if (isJson) return
  const { id, principal, role, expiresAtMs } = made
  stderr.write(
    `This is the only time the key is shown. It is ${id} of ${principal} (${role}), expires: ${dateOf(expiresAtMs)}.\n`,
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

function table(keys) {
  if (keys.length === 0) return 'No keys. The operator key of the deployment is not on this list.'
  const head = ['id', 'principal', 'role', 'state', 'begins with', 'expires']
  const rows = keys.map((key) => [
    key.id,
    key.principal,
    key.role,
    key.state,
    key.hint,
    dateOf(key.expiresAtMs),
  ])
  const widths = head.map((_, at) => Math.max(...[head, ...rows].map((row) => row[at].length)))
  const line = (row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at]))
      .join('  ')
      .trimEnd()
  return [head, ...rows].map(line).join('\n')
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
        if (args.length > 0) throw usageError(`${args[0]}: to list those of one, use --principal.`)
        const of = values.principal && `&principal=${encodeURIComponent(values.principal)}`
        const listed = await request(`${path}?limit=500${of ?? ''}`)
        print(listed, table(listed.keys))
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
        if (!body) throw usageError('Nothing to change: name a role, an agent, a model or a limit.')
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
        print(key, `${key.id} of ${key.principal} is revoked since ${dateOf(key.revokedAtMs)}.`)
      },
    },
    rotate: {
      usage:
        'isola key rotate <key id> [--grace 1h] [--expires-in 30d | --expires-at <date>]\n' +
        '  Makes a new key; the old one ends at once, or after the time of grace.',
      options: { grace: { type: 'string' }, ...ends },
      async run({ args, values, request, ...io }) {
        const id = only(args, '<key id>')
        const body = given({ graceMs: durationMs('grace', values.grace), ...endOf(values) })
        tell(await post(request, `${path}/${encodeURIComponent(id)}/rotate`, body), io)
      },
    },
  },
}
