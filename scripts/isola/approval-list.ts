// isola approval list: all that the caller may decide, of all sessions and of its own.
import { defined } from '../../src/contracts/defined.ts'
import { ApiError, type Client, type Reply } from '../../src/client/client.ts'
import { argumentsOf, readText } from './approval-text.ts'
import type { Context, Options, ValuesOf } from './command.ts'
import { neededText } from './limit-options.ts'
import { short, table, time } from './text.ts'
import { UsageError } from './usage.ts'
import { reasonOf, waitingOf as namedIn, type Named } from './waiting.ts'
import { wholeTree } from './whole-tree.ts'

const filters = ['state', 'agent', 'principal', 'tool', 'session', 'after'] as const

const options = {
  mine: { type: 'boolean', about: 'of your own sessions alone, questions and limits too' },
  all: { type: 'boolean', about: 'also questions and limits of everybody; for operators' },
  state: { type: 'string', value: 'state', about: 'open, approved, denied, expired or ended' },
  agent: { type: 'string', value: 'id' },
  principal: { type: 'string', value: 'name' },
  tool: { type: 'string', value: 'name' },
  session: { type: 'string', value: 'id' },
  limit: { type: 'string', value: 'n', about: 'how many calls, and parked sessions; 1 to 500' },
  after: { type: 'string', value: 'next' },
} as const satisfies Options
type Values = ValuesOf<typeof options>

type Inbox = Reply<'GET /api/operator/approvals'>
type Waiting = Named & { readonly principal: string }

/** Calls of all sessions, for those who have an inbox: operators and auditors, and authors what waits for an author. */
async function inboxOf(request: Client['request'], values: Values): Promise<Inbox> {
  // What of it is no filter is refused by the server.
  const query = Object.fromEntries(
    [...filters, 'limit' as const].flatMap((name) =>
      values[name] === undefined ? [] : [[name, values[name]]],
    ),
  ) as Record<never, never>
  return request('GET /api/operator/approvals', { query })
}

/** Every call that waits in parked sessions, one's own or everybody's, with whose it is. */
async function waitingOf(request: Client['request'], { all, limit = '100' }: Values) {
  const query = { state: 'parked', limit, ...(all && { principal: '*' }) } as const
  const { sessions, next } = await request('GET /api/sessions', { query })
  const waiting: Waiting[] = []
  for (const { id, principal } of sessions) {
    // It may be gone since the list was written.
    const tree = await wholeTree(request, id).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return undefined
      throw error
    })
    if (tree) waiting.push(...namedIn(tree).map((one) => ({ principal, ...one })))
  }
  return { waiting, isCut: next !== undefined, limit }
}

function rowsOf({ approvals }: Inbox, waiting: readonly Waiting[]) {
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

const none: Inbox = { approvals: [] }
const head = [
  'id',
  'waits for',
  'tool',
  'with',
  'needs',
  'principal',
  'agent',
  'approver',
  'has read',
  'since',
  'why',
]
/** Without the columns that are empty in every row: there are many, and each line is one. */
function listed(rows: readonly (readonly unknown[])[]) {
  const isUsed = head.map((_, column) => rows.some((row) => Boolean(row[column])))
  return table([head, ...rows].map((row) => row.filter((_, column) => isUsed[column])))
}

async function list({ values, request, print }: Context<Values>) {
  const { mine, all } = values
  const isNarrowed = filters.some((name) => values[name] !== undefined)
  if (isNarrowed && (mine || all))
    throw new UsageError(
      `--mine and --all go without ${filters.map((one) => `--${one}`).join(', ')}.`,
    )
  const inbox = mine
    ? none
    : await inboxOf(request, values).catch((error: unknown) => {
        // Who has no inbox decides in own sessions only.
        if (!isNarrowed && error instanceof ApiError && error.status === 403) return none
        throw error
      })
  const { waiting, isCut, limit } = isNarrowed
    ? { waiting: [], isCut: false, limit: '' }
    : await waitingOf(request, values)
  const rows = rowsOf(inbox, waiting)
  const { approvals, next } = inbox
  const notes = [
    rows.length === 0 ? 'Nothing waits.' : listed(rows),
    ...(next === undefined ? [] : [`There may be more: --after ${next}`]),
    ...(isCut ? [`Only the newest ${limit} parked sessions were looked at: --limit`] : []),
  ]
  print({ approvals, waiting, ...defined({ next }) }, notes.join('\n'))
}

const usage = (verb: string) =>
  `isola approval ${verb} [--mine | --all] [--state <state>] [--agent <id>] [--principal <name>]\n` +
  '                    [--tool <name>] [--session <id>] [--limit <n>] [--after <next>]'

export const listVerbs = {
  list: {
    usage: usage('list'),
    about:
      'All that you may decide: calls of all sessions that wait for a yes of yours (operators, auditors to read, authors\n' +
      'theirs), and what waits in your own sessions. With a filter calls that wait or waited for a yes only.',
    options,
    run: list,
  },
  inbox: { usage: usage('inbox'), about: 'The same as `list`.', options, run: list },
} as const
