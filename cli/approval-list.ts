// isola approval list: all that the caller may decide, of all sessions and of its own.
import type { Client, Reply } from '../src/client/client.ts'
import { argumentsOf, readText } from './approval-text.ts'
import { neededText } from './limit-options.ts'
import { flag, text, type Options, type ValuesOf } from './options.ts'
import { lines, short, table, time } from './text.ts'
import { UsageError } from './usage.ts'
import { reasonOf, waitingOf as namedIn, type Named } from './waiting.ts'
import { treesOf } from './approval-find.ts'
import { unless } from './connection.ts'
import { verb } from './command.ts'

const filters = {
  state: text('state', 'open, approved, denied, expired or ended'),
  agent: text('id'),
  principal: text('name'),
  tool: text('name'),
  session: text('id'),
} as const satisfies Options
const options = {
  mine: flag('of your own sessions alone, questions and limits too', { to: null }),
  all: flag('also questions and limits of all principals; for operators', { to: null }),
  ...filters,
  limit: text('n', 'how many calls, and parked sessions; 1 to 500'),
  after: text('next'),
} as const satisfies Options
type Values = ValuesOf<typeof options>

type Inbox = Reply<'GET /api/operator/approvals'>
type Waiting = Named & { readonly principal: string }

/** Every call that waits in parked sessions, the caller's own or all, with its principal. */
async function waitingOf(request: Client['request'], { all, limit = '100' }: Values) {
  const query = { state: 'parked', limit, ...(all && { principal: '*' }) } as const
  const { sessions, next } = await request('GET /api/sessions', { query })
  const waiting: Waiting[] = []
  for await (const { principal, tree } of treesOf(request, sessions))
    waiting.push(...namedIn(tree).map((one) => ({ principal, ...one })))
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
const heads = 'id,waits for,tool,with,needs,principal,agent,approver,has read,since,why'.split(',')

/** Without the columns that are empty in every row: there are many, and each line is one. */
function listed(rows: readonly (readonly unknown[])[]) {
  const isUsed = heads.map((_, column) => rows.some((row) => Boolean(row[column])))
  return table([heads, ...rows].map((row) => row.filter((_, column) => isUsed[column])))
}

/** `list`, and `inbox`, which is the same. */
export const listVerb = verb({
  usage:
    '[--mine | --all] [--state <state>] [--agent <id>] [--principal <name>]\n' +
    '                    [--tool <name>] [--session <id>] [--limit <n>] [--after <next>]',
  options,
  async run({ values, request, print, sent }) {
    const { mine, all } = values
    const names = [...Object.keys(filters), 'after'] as readonly (keyof Values)[]
    const isNarrowed = names.some((name) => values[name] !== undefined)
    if (isNarrowed && (mine || all))
      throw new UsageError(`--mine and --all go without --${names.join(', --')}.`)
    // Calls of all sessions are for operators and auditors, and for authors what waits for an author.
    const query = sent()
    // A caller without an inbox decides in their own sessions only.
    const read = async () => request('GET /api/operator/approvals', { query })
    const inbox =
      (mine ? undefined : await read().catch(unless(...(isNarrowed ? [] : [403])))) ?? none
    const { waiting, isCut, limit } = isNarrowed
      ? { waiting: [], isCut: false, limit: '' }
      : await waitingOf(request, values)
    const rows = rowsOf(inbox, waiting)
    const { approvals, next } = inbox
    const text = lines(
      rows.length === 0 ? 'Nothing waits.' : listed(rows),
      next !== undefined && `There may be more: --after ${next}`,
      isCut && `Only the newest ${limit} parked sessions were looked at: --limit`,
    )
    print({ approvals, waiting, ...(next !== undefined && { next }) }, text)
  },
})
