// isola approval show|allow|rules|revoke, and deny by id: calls of all sessions that wait for a yes.
import type { Client, Reply } from '../../src/client/client.ts'
import { confirm } from './confirm.ts'
import { dryRun, type Context } from './command.ts'
import { only } from './only.ts'
import { described } from './approval-text.ts'
import { short, table, time } from './text.ts'
import { UsageError } from './usage.ts'

const read = (request: Client['request'], id: string) =>
  request('GET /api/operator/approvals/:id', { params: { id } })

async function show({ args, request, print }: Context) {
  const entry = await read(request, only(args, '<id>'))
  print(entry, described(entry))
}

type Answered = Reply<'POST /api/operator/approvals'>['decided']

/** Says what became of each. @returns 1 if one was not taken. */
function tell(decided: Answered, what: string, print: Context['print']): number {
  const lines = decided.map(({ id, ok, message }) => `${id}: ${ok ? what : short(message, 300)}`)
  print({ decided }, lines.join('\n'))
  return decided.every(({ ok }) => ok) ? 0 : 1
}

interface AllowValues {
  readonly for?: string | undefined
  readonly free?: readonly string[] | undefined
  readonly days?: string | undefined
  readonly yes?: boolean | undefined
  readonly 'dry-run'?: boolean | undefined
}

async function allow({ args, values, request, print, stdin, stderr }: Context<AllowValues>) {
  const { for: scope = 'once', free, days, yes } = values
  if (!['once', 'session', 'always'].includes(scope))
    throw new UsageError('--for is once, session or always.')
  const also = scope === 'once' ? undefined : (scope as 'session' | 'always')
  if (also === undefined && (free || days !== undefined))
    throw new UsageError('--free and --days go with --for session or --for always.')
  if (also !== undefined && args.length > 1)
    throw new UsageError('A rule is made of one call: name one id.')
  const entries = await Promise.all(args.map((id) => read(request, id)))
  const text = entries.map(described).join('\n\n')
  if (values['dry-run']) return print({ approvals: entries }, `${text}\n\nNothing was decided.`)
  if (!yes) {
    if (!stdin.isTTY) throw new UsageError('Without a terminal to ask on, --yes is needed.')
    if (!(await confirm(`${text}\nLet it run?`, { stdin, stderr }))) return 1
  }
  const [first] = entries
  if (!first || entries.length > 1) {
    // What was shown of each is what runs, whatever it has become meanwhile.
    const approvals = entries.map(({ id, argsHash }) => ({ id, argsHash }))
    const body = { approvals, decision: 'approve' } as const
    const { decided } = await request('POST /api/operator/approvals', { body })
    return tell(decided, 'allowed', print)
  }
  const more = {
    ...(free && { free: [...free] }),
    ...(days !== undefined && { days: Number(days) }),
  }
  const { argsHash, id } = first
  const body = { decision: 'approve', argsHash, ...(also && { also }), ...more } as const
  const view = await request('POST /api/operator/approvals/:id', { params: { id }, body })
  if (!also) return print({ decided: [{ id, ok: true }] }, `${id}: allowed`)
  print(view, `${id}: allowed, and what is like it from now on (isola approval rules).`)
}

/** Those of the inbox, by their ids. */
export async function denyAll(
  { request, print }: Pick<Context, 'request' | 'print'>,
  ids: readonly string[],
  message: string | undefined,
) {
  const said = { decision: 'deny', ...(message !== undefined && { message }) } as const
  const body = { approvals: ids.map((id) => ({ id })), ...said }
  const { decided } = await request('POST /api/operator/approvals', { body })
  return tell(decided, 'denied', print)
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
    `${one.label.integrity}, ${one.label.confidentiality}`,
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
      'isola approval allow <id>… [--for once|session|always] [--free <field>]… [--days <n>] [--yes] [--dry-run]',
    about:
      'Lets them run with exactly the arguments that are shown. Several must be alike.\n' +
      '--for session|always: also later calls like it, behind no worse label; --free: a field that may change.',
    options: {
      for: { type: 'string', value: 'once|session|always' },
      free: {
        type: 'string',
        multiple: true,
        value: 'field',
        about: 'may be other than it is now',
      },
      days: { type: 'string', value: 'n', about: 'how long the rule holds, 30 if absent' },
      yes: { type: 'boolean', short: 'y', about: 'ask nothing' },
      ...dryRun,
    },
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
