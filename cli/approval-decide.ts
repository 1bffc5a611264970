// Deciding about calls that wait: shown first, then allowed, given more, or denied.
import { ApiError, type Client, type Request } from '../src/client/client.ts'
import { findCall, findInSession, type Entry, type Found } from './approval-find.ts'
import { described } from './approval-text.ts'
import type { Context } from './command.ts'
import { confirm } from './confirm.ts'
import { limitNames, limitOptions, limitsOf, limitUsage, neededOption } from './limit-options.ts'
import { count, dryRun, flag, sentOf, text, texts, type ValuesOf } from './options.ts'
import { lines, short } from './text.ts'
import { UsageError } from './usage.ts'
import { describedWaiting, nextOf, type Named } from './waiting.ts'

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
  const { for: scope = 'once', free, days } = values
  const more = { ...sentOf({ free: allowOptions.free, days: allowOptions.days }, values) }
  if (scope === 'session' || scope === 'always') return { also: scope, ...more }
  if (scope !== 'once') throw new UsageError('--for is once, session or always.')
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

type Together = Request<'POST /api/operator/approvals'>['body']

/** Decides about several calls of the inbox at once. @returns 1 if one was not taken. */
async function decideTogether(
  {
    request,
    isJson,
    print,
    stdout,
    stderr,
  }: Pick<Context, 'request' | 'isJson' | 'print' | 'stdout' | 'stderr'>,
  body: Together,
  what: string,
): Promise<number> {
  const { decided } = await request('POST /api/operator/approvals', { body })
  if (isJson) print({ decided })
  for (const { id, ok, message } of decided) {
    if (!ok) stderr.write(`${id}: ${short(message, Infinity)}\n`)
    else if (!isJson) stdout.write(`${id}: ${what}\n`)
  }
  return decided.every(({ ok }) => ok) ? 0 : 1
}

async function allowOne({ values, request, print }: Allowing, found: Found, also: Also) {
  const { id, entry, waiting } = found
  if (waiting) return allowWaiting({ request, print }, waiting, { values, also })
  const body = { decision: 'approve', argsHash: entry.argsHash, ...also } as const
  const view = await request('POST /api/operator/approvals/:id', { params: { id }, body })
  if (!also.also) return print({ decided: [{ id, ok: true }] }, `${id}: allowed`)
  print(view, `${id}: allowed, and what is like it from now on (isola approval rules).`)
}

type Answering = Pick<Context, 'request' | 'print'>
const placeOf = ({ session, run }: Named) => ({ params: { id: session, run } })
const decisions = 'POST /api/sessions/:id/runs/:run/decisions'

async function allowWaiting(
  { request, print }: Answering,
  waiting: Named,
  { values, also }: { readonly values: Values; readonly also: Also },
) {
  const { pause, run } = waiting
  const { call, kind, argsHash } = pause
  const body = limitsOf(values)
  if (body) {
    const path = 'POST /api/sessions/:id/runs/:run/limits'
    const view = await request(path, { ...placeOf(waiting), body })
    const still = view.pauses?.find((one) => one.kind === 'budget')
    if (still) throw new Error(`${run} still waits: ${still.reached?.message}`)
    return print(view, `${run} has its new limits; it is ${view.state}.`)
  }
  // A suspected loop has no arguments to look at.
  const shown = kind === 'approval' ? { argsHash, ...also } : {}
  const yes = { call, decision: 'approve', ...shown } as const
  const view = await request(decisions, { ...placeOf(waiting), body: yes })
  const rule = also.also ? ', and what is like it from now on (isola approval rules)' : ''
  const done = kind === 'budget' ? '' : `${call} is approved${rule}; `
  print(view, `${done}${run} goes on.`)
}

export async function denyWaiting(
  { request, print }: Answering,
  waiting: Named,
  message: string | undefined,
): Promise<void> {
  const { pause, run } = waiting
  const { call, kind } = pause
  const body = { call, decision: 'deny', ...(message !== undefined && { message }) } as const
  const view = await request(decisions, { ...placeOf(waiting), body })
  const text =
    kind === 'budget'
      ? `The limit stays; ${run} ends with what it has so far.`
      : `${call} is denied; ${run} goes on without it.`
  print(view, text)
}

/** Denies calls by the ids of the list. */
export async function denyIds(
  context: Pick<Context, 'request' | 'print' | 'isJson' | 'stdout' | 'stderr'>,
  ids: readonly string[],
  message: string | undefined,
) {
  const { request } = context
  if (ids.every((id) => id.startsWith('apr_'))) {
    const said = { decision: 'deny', ...(message !== undefined && { message }) } as const
    const body = { approvals: ids.map((id) => ({ id })), ...said }
    try {
      return await decideTogether(context, body, 'denied')
    } catch (error) {
      // A caller without an inbox decides in their own sessions.
      if (!(error instanceof ApiError && error.status === 403)) throw error
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
    if (!(error instanceof ApiError && [403, 404].includes(error.status))) throw error
  }
  return undefined
}
