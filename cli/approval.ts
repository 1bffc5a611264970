// isola approval …: calls that wait for a decision, in the caller's own sessions or, for operators, in every session.

import type { Reply } from '../src/client/client.ts'
import { argumentsOf, readText } from './approval-text.ts'
import { neededText } from './limit-options.ts'
import { flag, text, type ValuesOf, UsageError } from './options.ts'
import { lines, short, table, time, listed } from './text.ts'
import {
  reasonOf,
  waitingOf as namedIn,
  type Named,
  treesOf,
  findCall,
  findInSession,
  type Found,
} from './approval-find.ts'
import { unless } from './connection.ts'
import { verb, noun, on } from './command.ts'
import {
  allowCalls,
  allowOptions,
  denyIds,
  denyWaiting,
  describedFound,
  saidTo,
} from './approval-decide.ts'

// isola approval list: all that the caller may decide, of all sessions and of its own.

const filters = {
  state: text('state', 'open, approved, denied, expired or ended'),
  agent: text('id'),
  principal: text('name'),
  tool: text('name'),
  session: text('id'),
}
const options = {
  mine: flag('of your own sessions alone, questions and limits too', { to: null }),
  all: flag('also questions and limits of all principals; for operators', { to: null }),
  ...filters,
  limit: text('n', 'how many calls, and parked sessions; 1 to 500'),
  after: text('next'),
}
type Values = ValuesOf<typeof options>

type Inbox = Reply<'GET /api/operator/approvals'>
type Waiting = Named & { readonly principal: string }

function rowsOf(approvals: Inbox['approvals'], waiting: readonly Waiting[]) {
  const own = waiting.map(({ id, principal, pause }) => {
    const { approval, reached, kind, tool, input, label, sinceMs } = pause
    return [
      id,
      kind === 'budget' ? 'a limit' : kind.replace('_', ' '),
      tool,
      reached ? '' : short(argumentsOf(input), 80),
      neededText(reached ?? {}),
      principal,
      approval?.asker.agent,
      approval?.approver,
      label && readText(label),
      time(sinceMs),
      // Last, since it is as long as it is.
      reached && reasonOf(pause),
    ]
  })
  const shown = new Set(waiting.map(({ id }) => id))
  const others = approvals.flatMap((one) => {
    if (shown.has(one.id)) return []
    const { id, state, tool, principal, agent, approver, label, atMs } = one
    const what = state === 'open' ? 'approval' : state
    const read = label && readText(label)
    return [[id, what, tool, '', '', principal, agent, approver, read, time(atMs)]]
  })
  return [...own, ...others]
}

const heads = 'id,waits for,tool,with,needs,principal,agent,approver,has read,since,why'.split(',')

/** Without the columns that are empty in every row: there are many, and each line is one. */
function tableOf(rows: readonly (readonly unknown[])[]) {
  const isUsed = heads.map((_, column) => rows.some((row) => Boolean(row[column])))
  return table([heads, ...rows].map((row) => row.filter((_, column) => isUsed[column])))
}

/** `list`, and `inbox`, which is the same. */
const listVerb = verb({
  usage:
    '[--mine | --all] [--state <state>] [--agent <id>] [--principal <name>]\n' +
    '                    [--tool <name>] [--session <id>] [--limit <n>] [--after <next>]',
  options,
  async run({ values, request, ask, print, sent }) {
    const { mine, all, limit = '100' } = values
    const names = [...Object.keys(filters), 'after'] as readonly (keyof Values)[]
    const isNarrowed = names.some((name) => values[name] !== undefined)
    if (isNarrowed && (mine || all))
      throw new UsageError(`--mine and --all go without --${names.join(', --')}.`)
    // Calls of all sessions are for operators and auditors, and for authors what waits for an author. A caller without
    // an
    // inbox decides in their own sessions only.
    const inbox = mine
      ? undefined
      : await ask('GET /api/operator/approvals', sent()).catch(unless(...(isNarrowed ? [] : [403])))
    const { approvals, next }: Inbox = inbox ?? { approvals: [] }
    const waiting: Waiting[] = []
    let isCut = false
    if (!isNarrowed) {
      const query = { state: 'parked', limit, principal: all ? '*' : undefined } as const
      const parked = await ask('GET /api/sessions', query)
      isCut = parked.next !== undefined
      for await (const { principal, tree } of treesOf(request, parked.sessions))
        waiting.push(...namedIn(tree).map((one) => ({ principal, ...one })))
    }
    const rows = rowsOf(approvals, waiting)
    const text = lines(
      rows.length === 0 ? 'Nothing waits.' : tableOf(rows),
      next !== undefined && `There may be more: --after ${next}`,
      isCut && `Only the newest ${limit} parked sessions were looked at: --limit`,
    )
    print({ approvals, waiting, next }, text)
  },
})

export default noun('approval', {
  list: {
    ...listVerb,
    about:
      'All that you may decide: calls of all sessions that wait for a yes of yours (operators, auditors to ' +
      'read, authors\n' +
      'theirs), and what waits in your own sessions. With a filter calls that wait or waited for a yes only.',
  },
  inbox: { ...listVerb, about: 'The same as `list`.' },
  show: verb({
    usage: '<id>',
    about: 'One of them: arguments, who asks and why, what was read before, what it does.',
    async run({ args: [id], request, connect, print }) {
      const found = await findCall(request, id)
      const { entry, waiting } = found
      const said = entry && (await saidTo(entry, connect()))
      const told = said === undefined ? '' : `\nThe model was told: ${short(said, 2_000)}`
      print(entry ? { ...entry, message: said } : waiting, describedFound(found) + told)
    },
  }),
  allow: verb({
    usage:
      '<id>… [--for once|session|always] [--free <field>]… [--days <n>] [--yes] [--dry-run]\n' +
      '                      [--cost <usd>] [--tokens <n>] …',
    about:
      'Lets them run with exactly the arguments that are shown. Several must be alike.\n' +
      '--for session|always: also later calls like it, behind no worse label; --free: a field that may change.\n' +
      '--cost, --tokens …: what a run that waits at a limit may spend from now on, in all.',
    options: allowOptions,
    run: (context) =>
      allowCalls(context, async () => {
        const found: Found[] = []
        for (const id of context.args) found.push(await findCall(context.request, id))
        return found
      }),
  }),
  rules: on('GET /api/approval-rules', {
    about: 'What was allowed besides single calls, and until when.',
    options: {
      all: flag('of all principals; for operators and auditors', { to: 'principal', sends: '*' }),
    },
    says: ({ rules }) =>
      listed(rules, 'No rules.', {
        id: 'id',
        tool: 'tool',
        principal: 'principal',
        in: ({ session }) => session ?? 'every session',
        free: ({ free }) => Object.keys(free).join(', ') || 'nothing',
        'up to': ({ label }) => readText(label),
        'allowed by': ({ decidedBy }) => decidedBy.principal,
        until: 'expiresAtMs',
      }),
  }),
  revoke: on('DELETE /api/approval-rules/:rule', {
    usage: '<rule>',
    about: 'The next call of its shape asks again.',
    asks: (rule) => `Revoke ${rule}?`,
    says: (_done, { args: [rule] }) => `${rule} is revoked: the next call asks again.`,
  }),
  approve: verb({
    usage:
      '<session> <call> [--hash <hash>] [options of allow]\n       isola approval approve <id> [--hash <hash>] [options of allow]',
    about:
      'Lets the call run with exactly the arguments that are shown. On the record with who did it.',
    options: {
      ...allowOptions,
      hash: text('hash', 'the `argsHash` that you looked at; asks nothing', { to: null }),
    },
    run(context) {
      const { request, values } = context
      const [id, call]: readonly [string, string?] = context.args
      const find = async (): Promise<Found> =>
        call === undefined
          ? findCall(request, id)
          : { id: call, waiting: await findInSession(request, id, call) }
      return allowCalls({ ...context, args: [id] }, async () => [await find()], values.hash)
    },
  }),
  deny: verb({
    usage:
      '<id>… [--message <text>]\n       isola approval deny <session> <call> [--message <text>]',
    about: 'The call does not run; its model reads why. A run at its limit ends with what it has.',
    options: { message: text('text', 'told to the model') },
    async run(context) {
      const { args, values, request } = context
      const [session, call] = args
      if (!session.startsWith('ses_')) return denyIds(context, values.message)
      if (call === undefined || args.length > 2)
        throw new UsageError('Name a session and a call of it, or ids of `isola approval list`.')
      return denyWaiting(context, await findInSession(request, session, call), values.message)
    },
  }),
})
