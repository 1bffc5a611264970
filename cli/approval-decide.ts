// Deciding about calls that wait: shown first, then allowed, given more, or denied.
import type { Client, Request } from '../src/client/client.ts'
import { defined } from '../src/contracts/defined.ts'
import {
  findCall,
  findInSession,
  type Entry,
  type Found,
  describedWaiting,
  nextOf,
  type Named,
} from './approval-find.ts'
import { described } from './approval-text.ts'
import type { Context } from './command.ts'
import { confirm } from './confirm.ts'
import { unless } from './connection.ts'
import { limitNames, limitOptions, limitsOf, limitUsage, neededOption } from './limit-options.ts'
import { count, dryRun, flag, sentOf, text, texts, type ValuesOf, UsageError } from './options.ts'
import { lines, short } from './text.ts'

export const allowOptions = {
  for: text('once|session|always', undefined, { to: null }),
  free: texts('field', 'may be other than it is now'),
  days: count('n', 'how long the rule holds, 30 if absent'),
  yes: flag('ask nothing', { short: 'y', to: null }),
  ...limitOptions,
  ...dryRun,
} as const
type Values = ValuesOf<typeof allowOptions>
type Allowing = Context<Values>

/** How far a yes goes, besides this call. */
interface Also {
  readonly also?: 'session' | 'always'
  readonly free?: string[]
  readonly days?: number
}

function alsoOf(values: Values): Also {
  const { for: also = 'once', free, days } = values
  if (also === 'session' || also === 'always') {
    const more = { free: allowOptions.free, days: allowOptions.days }
    return { also, ...sentOf(more, { free, days }) }
  }
  if (also !== 'once') throw new UsageError('--for is once, session or always.')
  if (free || days !== undefined)
    throw new UsageError('--free and --days go with --for session or --for always.')
  return {}
}

export const describedFound = ({ entry, waiting }: Found): string =>
  entry ? described(entry) : describedWaiting(waiting)

/** Throws where a yes alone lets nothing go on, with the command that does. */
function checkMayAllow({ id, entry, waiting }: Found, values: Values): void {
  const hasLimits = limitsOf(values) !== undefined
  if (entry) {
    if (hasLimits)
      throw new UsageError(`${id} waits at no limit: leave out --${limitNames.join(', --')}.`)
    if (entry.state !== 'open') throw new Error(`${id} waits no more: it is ${entry.state}.`)
    return
  }
  const { kind, reached } = waiting.pause
  const option = reached && neededOption(reached)
  if (kind === 'question' || kind === 'client_tool')
    throw new Error(`${short(waiting.id)} waits for an answer: ${nextOf(waiting)}`)
  if (kind === 'budget' && option && !hasLimits)
    throw new Error(
      lines(
        reached.message,
        `  ${nextOf(waiting)}`,
        `  isola approval allow ${waiting.id} ${option}`,
      ),
    )
  if (hasLimits && !option)
    throw new UsageError(`${short(waiting.id)} waits at no limit: leave out ${limitUsage}.`)
}

const argsHashOf = ({ entry, waiting }: Found) => (entry ?? waiting.pause).argsHash

/** @param hash Of the arguments that the caller looked at: it stands for the question, and no other arguments run. */
export async function allowCalls(
  context: Allowing,
  find: () => Promise<readonly Found[]>,
  hash?: string,
) {
  const { values, stdin, stderr, print } = context
  const also = alsoOf(values)
  if (also.also !== undefined && context.args.length > 1)
    throw new UsageError('A rule is made of one call: name one id.')
  const found = await find()
  for (const one of found) checkMayAllow(one, values)
  const other = found.find((one) => hash !== undefined && argsHashOf(one) !== hash)
  if (other)
    throw new Error(`${short(other.id)} would run with other arguments: ${argsHashOf(other)}.`)
  const text = found.map(describedFound).join('\n\n')
  if (values['dry-run']) {
    const approvals = found.map(({ entry, waiting }) => entry ?? waiting)
    return print({ approvals }, `${text}\n\nNothing was decided.`)
  }
  // A limit that was named is the yes.
  const isAsked = ({ waiting }: Found) =>
    !waiting || (waiting.pause.kind === 'approval' && limitsOf(values) === undefined)
  if (found.some(isAsked) && !values.yes && hash === undefined) {
    if (!stdin.isTTY)
      throw new UsageError('Without a terminal to ask on, --yes is needed, or --hash of approve.')
    if (!(await confirm(`${text}\nLet it run?`, { stdin, stderr }))) return 1
  }
  const entries = found.flatMap(({ entry }) => entry ?? [])
  if (entries.length > 1 && entries.length === found.length) {
    // Each call runs with the arguments that were shown, even if it has others by now.
    const approvals = entries.map(({ id, argsHash }) => ({ id, argsHash }))
    return decideTogether(context, { approvals, decision: 'approve' }, 'allowed')
  }
  for (const one of found) await allowOne(context, one, also)
  return undefined
}

/** Decides about several calls of the inbox at once. @returns 1 if one was not taken. */
async function decideTogether(
  { ask, isJson, print, stdout, stderr }: Context<unknown, unknown>,
  body: Request<'POST /api/operator/approvals'>['body'],
  what: string,
): Promise<number> {
  const { decided } = await ask('POST /api/operator/approvals', body)
  if (isJson) print({ decided })
  for (const { id, ok, message } of decided) {
    if (!ok) stderr.write(`${id}: ${short(message, Infinity)}\n`)
    else if (!isJson) stdout.write(`${id}: ${what}\n`)
  }
  return decided.every(({ ok }) => ok) ? 0 : 1
}

async function allowOne({ values, ask, print }: Allowing, found: Found, also: Also) {
  const { id, entry, waiting } = found
  const rule = also.also ? ', and what is like it from now on (isola approval rules)' : ''
  if (entry) {
    const body = { decision: 'approve', argsHash: entry.argsHash, ...also } as const
    const view = await ask('POST /api/operator/approvals/:id', body, [id])
    return rule === ''
      ? print({ decided: [{ id, ok: true }] }, `${id}: allowed`)
      : print(view, `${id}: allowed${rule}.`)
  }
  const { pause, run, session } = waiting
  const { call, kind, argsHash } = pause
  const limits = limitsOf(values)
  if (limits) {
    const view = await ask('POST /api/sessions/:id/runs/:run/limits', limits, [session, run])
    const still = view.pauses?.find((one) => one.kind === 'budget')
    if (still) throw new Error(`${run} still waits: ${still.reached?.message}`)
    return print(view, `${run} has its new limits; it is ${view.state}.`)
  }
  // A suspected loop has no arguments to look at.
  const shown = kind === 'approval' ? { argsHash, ...also } : {}
  const view = await ask(decisions, { call, decision: 'approve', ...shown }, [session, run])
  print(view, `${kind === 'budget' ? '' : `${call} is approved${rule}; `}${run} goes on.`)
}

const decisions = 'POST /api/sessions/:id/runs/:run/decisions'

export async function denyWaiting(
  { ask, print }: Context<unknown, unknown>,
  { session, run, pause: { call, kind } }: Named,
  message: string | undefined,
): Promise<void> {
  const body = { call, decision: 'deny', ...defined({ message }) } as const
  const view = await ask(decisions, body, [session, run])
  const text =
    kind === 'budget'
      ? `The limit stays; ${run} ends with what it has so far.`
      : `${call} is denied; ${run} goes on without it.`
  print(view, text)
}

/** Denies calls by the ids of the list. */
export async function denyIds(
  context: Context<unknown, readonly string[]>,
  message: string | undefined,
) {
  const { request, args: ids } = context
  if (ids.every((id) => id.startsWith('apr_'))) {
    const approvals = ids.map((id) => ({ id }))
    const body = { approvals, decision: 'deny', ...defined({ message }) } as const
    try {
      return await decideTogether(context, body, 'denied')
    } catch (error) {
      // A caller without an inbox decides in their own sessions.
      unless(403)(error)
    }
  }
  for (const id of ids) {
    const { entry, waiting } = await findCall(request, id)
    const found = waiting ?? (await findInSession(request, entry.session, entry.call))
    await denyWaiting(context, found, message)
  }
  return undefined
}

/** The text that the model was told about a call that did not run, from the run's events. */
export async function saidTo({ state, session, run, call }: Entry, { events }: Client) {
  if (state !== 'denied' && state !== 'expired') return undefined
  try {
    for await (const item of events(session, { run, follow: false }))
      if (item.type === 'tool_finished' && item.data.call === call) return item.data.error?.message
  } catch (error) {
    // The session is another principal's, or gone: the entry of the list is what is left.
    unless(403, 404)(error)
  }
  return undefined
}
