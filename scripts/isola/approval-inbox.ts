// isola approval show|allow|rules|revoke, and deny by id.
import { defined } from '../../src/contracts/defined.ts'
import { ApiError, type Client, type Reply } from '../../src/client/client.ts'
import { allowCall, asksFirst, checkMayAllow, denyCall, type Also } from './approval-decide.ts'
import { findCall, findInSession, type Entry, type Found } from './approval-find.ts'
import { confirm } from './confirm.ts'
import { dryRun, type Context, type ValuesOf } from './command.ts'
import { limitNames, limitOptions, limitsOf } from './limit-options.ts'
import { only } from './only.ts'
import { described, readText } from './approval-text.ts'
import { short, table, time } from './text.ts'
import { toNumber } from './to-number.ts'
import { UsageError } from './usage.ts'
import { describedWaiting } from './waiting.ts'

async function show({ args, request, connect, print }: Context) {
  const found = await findCall(request, only(args, '<id>'))
  const said = found.entry && (await saidTo(found.entry, connect()))
  const text = describedFound(found)
  print(
    found.entry ? { ...found.entry, ...defined({ message: said }) } : found.waiting,
    said === undefined ? text : `${text}\nThe model was told: ${short(said, 2_000)}`,
  )
}

/** What the model was told of a call that was not let run, as its run's events have it. */
async function saidTo({ state, session, run, call }: Entry, { events }: Client) {
  if (state !== 'denied' && state !== 'expired') return undefined
  try {
    for await (const item of events(session, { run, follow: false }))
      if (item.type === 'tool_finished' && item.data.call === call) return item.data.error?.message
  } catch (error) {
    // It is another's, or gone: the list is what is left of it.
    if (!(error instanceof ApiError && [403, 404].includes(error.status))) throw error
  }
  return undefined
}

const describedFound = ({ entry, waiting }: Found) =>
  entry ? described(entry) : describedWaiting(waiting)

type Answered = Reply<'POST /api/operator/approvals'>['decided']

/** Says what became of each: what was not taken on the error output. @returns 1 if one was not. */
function tell(
  decided: Answered,
  what: string,
  { isJson, print, stdout, stderr }: Pick<Context, 'isJson' | 'print' | 'stdout' | 'stderr'>,
): number {
  if (isJson) print({ decided })
  for (const { id, ok, message } of decided) {
    if (!ok) stderr.write(`${id}: ${short(message, Infinity)}\n`)
    else if (!isJson) stdout.write(`${id}: ${what}\n`)
  }
  return decided.every(({ ok }) => ok) ? 0 : 1
}

export const allowOptions = {
  for: { type: 'string', value: 'once|session|always' },
  free: {
    type: 'string',
    multiple: true,
    value: 'field',
    about: 'may be other than it is now',
  },
  days: { type: 'string', value: 'n', about: 'how long the rule holds, 30 if absent' },
  yes: { type: 'boolean', short: 'y', about: 'ask nothing' },
  ...limitOptions,
  ...dryRun,
} as const
type AllowValues = ValuesOf<typeof allowOptions>
type Allowing = Context<AllowValues>

/** How far the yes goes, as it was asked for. */
function alsoOf({ for: scope = 'once', free, days }: AllowValues): Also {
  if (!['once', 'session', 'always'].includes(scope))
    throw new UsageError('--for is once, session or always.')
  const also = scope === 'once' ? undefined : (scope as 'session' | 'always')
  if (also === undefined && (free || days !== undefined))
    throw new UsageError('--free and --days go with --for session or --for always.')
  return {
    ...defined({ also }),
    ...(free && { free: [...free] }),
    ...(days !== undefined && { days: toNumber('--days', days) }),
  }
}

export async function allow(context: Allowing) {
  const { args, values, request } = context
  if (alsoOf(values).also !== undefined && args.length > 1)
    throw new UsageError('A rule is made of one call: name one id.')
  const found: Found[] = []
  for (const id of args) found.push(await findCall(request, id))
  return allowFound(context, found)
}

const argsHashOf = ({ entry, waiting }: Found) => (entry ?? waiting.pause).argsHash

/** @param hash Of the arguments that the caller looked at: it stands for the question, and no other arguments run. */
export async function allowFound(context: Allowing, found: readonly Found[], hash?: string) {
  const { values, stdin, stderr, print } = context
  const also = alsoOf(values)
  for (const { id, waiting, entry } of found) {
    if (waiting) checkMayAllow(waiting, values)
    else if (limitsOf(values))
      throw new UsageError(`${id} waits at no limit: leave out --${limitNames.join(', --')}.`)
    else if (entry.state !== 'open') throw new Error(`${id} waits no more: it is ${entry.state}.`)
  }
  const other = found.find((one) => hash !== undefined && argsHashOf(one) !== hash)
  if (other)
    throw new Error(`${short(other.id)} would run with other arguments: ${argsHashOf(other)}.`)
  const text = found.map(describedFound).join('\n\n')
  if (values['dry-run'])
    return print(
      { approvals: found.map(({ entry, waiting }) => entry ?? waiting) },
      `${text}\n\nNothing was decided.`,
    )
  // A limit that was named is the yes.
  const asks = found.some(({ waiting }) => !waiting || asksFirst(waiting, values))
  if (asks && !values.yes && hash === undefined) {
    if (!stdin.isTTY)
      throw new UsageError('Without a terminal to ask on, --yes is needed, or --hash of approve.')
    if (!(await confirm(`${text}\nLet it run?`, { stdin, stderr }))) return 1
  }
  const entries = found.flatMap(({ entry }) => entry ?? [])
  if (entries.length > 1 && entries.length === found.length) return allowTogether(context, entries)
  for (const one of found) await allowOne(context, one, also)
  return undefined
}

/** What was shown of each is what runs, whatever it has become meanwhile. */
async function allowTogether(context: Allowing, entries: readonly Entry[]) {
  const approvals = entries.map(({ id, argsHash }) => ({ id, argsHash }))
  const body = { approvals, decision: 'approve' } as const
  const { decided } = await context.request('POST /api/operator/approvals', { body })
  return tell(decided, 'allowed', context)
}

async function allowOne({ values, request, print }: Allowing, found: Found, also: Also) {
  const { id, entry, waiting } = found
  if (waiting) {
    const { view, text } = await allowCall(request, waiting, { ...also, limits: values })
    return print(view, text)
  }
  const body = { decision: 'approve', argsHash: entry.argsHash, ...also } as const
  const view = await request('POST /api/operator/approvals/:id', { params: { id }, body })
  if (!also.also) return print({ decided: [{ id, ok: true }] }, `${id}: allowed`)
  print(view, `${id}: allowed, and what is like it from now on (isola approval rules).`)
}

/** Those of the list, by their ids. */
export async function denyIds(
  context: Pick<Context, 'request' | 'print' | 'isJson' | 'stdout' | 'stderr'>,
  ids: readonly string[],
  message: string | undefined,
) {
  const { request, print } = context
  const said = { decision: 'deny', ...defined({ message }) } as const
  if (ids.every((id) => id.startsWith('apr_'))) {
    const body = { approvals: ids.map((id) => ({ id })), ...said }
    try {
      const { decided } = await request('POST /api/operator/approvals', { body })
      return tell(decided, 'denied', context)
    } catch (error) {
      // Who has no inbox decides in own sessions.
      if (!(error instanceof ApiError && error.status === 403)) throw error
    }
  }
  for (const id of ids) {
    const { entry, waiting } = await findCall(request, id)
    const { view, text } = await denyCall(
      request,
      waiting ?? (await findInSession(request, entry.session, entry.call)),
      message,
    )
    print(view, text)
  }
  return undefined
}

async function rules({ values, request, print }: Context<{ readonly all?: boolean | undefined }>) {
  const query = values.all ? ({ principal: '*' } as const) : {}
  const all = await request('GET /api/approval-rules', { query })
  const rows = all.rules.map((one) => [
    one.id,
    one.tool,
    one.principal,
    one.session ?? 'every session',
    Object.keys(one.free).join(', ') || 'nothing',
    readText(one.label),
    one.decidedBy.principal,
    time(one.expiresAtMs),
  ])
  const head = ['id', 'tool', 'principal', 'in', 'free', 'up to', 'allowed by', 'until']
  print(all, rows.length === 0 ? 'No rules.' : table([head, ...rows]))
}

async function revoke({ args, request, print }: Context) {
  const rule = only(args, '<rule>')
  const done = await request('DELETE /api/approval-rules/:rule', { params: { rule } })
  print(done, `${rule} is revoked: the next call asks again.`)
}

export const inboxVerbs = {
  show: {
    usage: 'isola approval show <id>',
    about: 'One of them: arguments, who asks and why, what was read before, what it does.',
    options: {},
    run: show,
  },
  allow: {
    usage:
      'isola approval allow <id>… [--for once|session|always] [--free <field>]… [--days <n>] [--yes] [--dry-run]\n' +
      '                      [--cost <usd>] [--tokens <n>] …',
    about:
      'Lets them run with exactly the arguments that are shown. Several must be alike.\n' +
      '--for session|always: also later calls like it, behind no worse label; --free: a field that may change.\n' +
      '--cost, --tokens …: what a run that waits at a limit may spend from now on, in all.',
    options: allowOptions,
    run: allow,
  },
  rules: {
    usage: 'isola approval rules [--all]',
    about: 'What was allowed besides single calls, and until when.',
    options: { all: { type: 'boolean', about: "everybody's; for operators and auditors" } },
    run: rules,
  },
  revoke: {
    usage: 'isola approval revoke <rule> [--yes]',
    about: 'The next call of its shape asks again.',
    asks: ({ args: [rule] }: Context<object, [string]>) => `Revoke ${short(rule)}?`,
    run: revoke,
  },
} as const
