import type * as z from 'zod'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { AuditCursor, AuditQuery, AuditReader } from '../types/operations.ts'
import type { Sources } from '#contracts/sources.ts'
import { dayMs, defaultListLimit, maxWindowMs } from '#platform/routes/queries.ts'
import type { auditQuery, unconfirmedQuery, unconfirmedRequest } from './requests.ts'
import { deploymentEvent, type DeploymentLog } from '#contracts/event.ts'
import type { ModelAmount } from '#contracts/lease.ts'
import { unwrap } from '#contracts/reply.ts'
import type {
  SessionGateway,
  ConfirmedAttempt,
  ConfirmRequest,
} from '#runtime/session/types/session-api.ts'
import { isRunId, isSessionId } from '#platform/routes/headers.ts'
import type { RequestContext } from '#platform/routes/request.ts'

export interface AuditDeps {
  readonly audit: AuditReader
  readonly sources: Sources
}

/**
 * The record in the order of arrival, or newest first. A search by principal, agent, type or plugin covers the last
 * day unless the request sets `since`.
 */
export async function readAudit({ audit, sources }: AuditDeps, asked: z.output<typeof auditQuery>) {
  const query = toAuditQuery(asked, sources.clock.nowMs())
  const { records, next, last } = await audit.query(query)
  return {
    records,
    ...(next && { next: fromCursor(next) }),
    last,
    ...(query.sinceMs !== undefined && { sinceMs: query.sinceMs }),
  }
}

function toAuditQuery(
  { session, since, until, after, order, limit, ...exact }: z.output<typeof auditQuery>,
  nowMs: number,
): AuditQuery {
  const { trace, principal, agent, type, plugin } = exact
  const cursor = after === undefined ? undefined : toCursor(after, order)
  const isSearch = [principal, agent, type, plugin].some((one) => one !== undefined)
  // The rows of one session or trace, and the rows after a cursor, are few enough without a time limit.
  const isBounded = session !== undefined || trace !== undefined || (cursor && order !== 'desc')
  if (since !== undefined && !isBounded && order !== 'desc') checkWindow(since, until ?? nowMs)
  const sinceMs = since ?? (isSearch && !isBounded ? nowMs - dayMs : undefined)
  return {
    ...defined({ trace }),
    ...(session !== undefined && { session: session === 'deployment' ? '' : session }),
    ...defined({ principal, agent, type, plugin, sinceMs, untilMs: until, order }),
    limit: limit ?? defaultListLimit,
    ...defined({ after: cursor }),
  }
}

/** In the order of arrival, all events of the time are read before they are sorted, so the time is limited. */
function checkWindow(since: number, until: number): void {
  if (until - since <= maxWindowMs) return
  const message = 'since: at most 31 days before until in this order; order=desc goes further back.'
  throw new IsolaError('request_invalid', message, { param: 'since' })
}

/** Parses the cursor of a page. A cursor of one order is not valid in the other. */
export function toCursor(text: string, order: AuditQuery['order'] | undefined): AuditCursor {
  const [id, atMs] = text.split('-').map(Number).toReversed()
  if ((atMs !== undefined) !== (order === 'desc')) {
    const message = 'after: must be the `next` or `last` of a page in the same order.'
    throw new IsolaError('request_invalid', message, { param: 'after' })
  }
  return { id: id ?? 0, ...defined({ atMs }) }
}

export const fromCursor = ({ id, atMs }: AuditCursor): number | string =>
  atMs === undefined ? id : `${atMs}-${id}`

export interface ConfirmDeps {
  readonly sessions: SessionGateway
  readonly deploymentLog: DeploymentLog
  readonly sources: Sources
}

/** Failed requests that may have reached a provider, and the amounts that are booked for them. */
export async function listUnconfirmed(
  deps: AuditDeps,
  { principal, since, limit = defaultListLimit, after }: z.output<typeof unconfirmedQuery>,
) {
  const { attempts, next } = await unconfirmedSince(deps, {
    principal,
    sinceMs: since ?? deps.sources.clock.nowMs() - dayMs,
    limit,
    after: after === undefined ? undefined : toCursor(after, 'desc'),
  })
  return { attempts, ...(next && { next: fromCursor(next) }) }
}

interface Asked {
  readonly principal?: string | undefined
  readonly sinceMs: number
  readonly limit: number
  readonly after?: AuditCursor | undefined
}

/** A page of attempts with a booked amount that no operator has settled, newest first. */
async function unconfirmedSince(
  { audit }: Pick<AuditDeps, 'audit'>,
  { principal, sinceMs, limit, after }: Asked,
) {
  const { records, next } = await audit.query({
    type: 'model_failed',
    isUnconfirmed: true,
    sinceMs,
    order: 'desc',
    limit,
    ...defined({ principal, after }),
  })
  const attempts = records.map(({ session, run, seq, agent, atMs, data, principal: whose }) => {
    const costUsd = numberOf(data, 'bookedCostNanoUsd') / 1e9
    const model = `${textOf(data, 'provider')}/${textOf(data, 'model')}`
    const about = { id: `${session}.${run}.${seq}`, principal: whose, session, run, agent, atMs }
    const tokens = numberOf(data, 'bookedTokens')
    return { ...about, model, code: textOf(data, 'code'), tokens, costUsd }
  })
  return { attempts, next }
}

/** The size of a page of the record. */
const maxRead = 500

/** The sum of all booked amounts. */
export async function unconfirmedSum(
  deps: Pick<AuditDeps, 'audit'>,
  asked: Pick<Asked, 'principal' | 'sinceMs'>,
) {
  const sum = { tokens: 0, costUsd: 0 }
  for (let after: AuditCursor | undefined, isMore = true; isMore;) {
    const { attempts, next } = await unconfirmedSince(deps, { ...asked, limit: maxRead, after })
    for (const { tokens, costUsd } of attempts) {
      sum.tokens += tokens
      sum.costUsd += costUsd
    }
    after = next
    isMore = next !== undefined
  }
  return sum
}

const textOf = (data: Readonly<Record<string, unknown>>, key: string): string =>
  String(data[key] ?? '')
const numberOf = (data: Readonly<Record<string, unknown>>, key: string): number =>
  Number(data[key] ?? 0)

/**
 * `POST /api/operator/unconfirmed/:id`: settles the attempt in its session, then in each session above up to the
 * root. Each step takes effect once, however often it is requested. The record is written last, so that an
 * interrupted request can be repeated.
 */
export async function confirmAttempt(
  deps: ConfirmDeps,
  context: RequestContext,
  asked: z.output<typeof unconfirmedRequest>,
) {
  const { id = '' } = context.params
  const [session = '', run = '', place = ''] = id.split('.')
  if (!isSessionId(session) || !isRunId(run) || !/^\d{1,15}$/.test(place))
    throw new IsolaError('request_not_found', 'There is no such attempt.', { param: 'id' })
  const request = { run, id, seq: Number(place), spent: spentBy(asked) }
  // First a look: every run above must be over, because an open run would book the settled child again.
  await settleUpwards(deps, session, { ...request, isLook: true })
  const { settlement, principal } = await settleUpwards(deps, session, request)
  const { held, spent } = settlement
  const { principal: by, trace, requestId } = context.by()
  const told = {
    session,
    owner: principal,
    run,
    attempt: id,
    heldTokens: held.tokens,
    heldCostNanoUsd: held.costNanoUsd,
    ...spent,
    request: requestId,
  }
  // One event for each attempt, however often it is requested, also if an earlier request stopped before this line.
  const at = { principal: by, trace, atMs: deps.sources.clock.nowMs() }
  await deps.deploymentLog.append(deploymentEvent('attempt_confirmed', at, told), 'attempt')
  return { id, principal, held: inDollars(held), spent: inDollars(spent) }
}

/** Asks the session of an attempt, then each session above it. @returns The answer of the attempt's own session. */
async function settleUpwards(
  { sessions }: Pick<ConfirmDeps, 'sessions'>,
  session: string,
  request: ConfirmRequest & { readonly seq: number },
): Promise<ConfirmedAttempt> {
  const own = unwrap(await sessions.at(session).confirm(request))
  const { id, isLook } = request
  for (let at: ConfirmedAttempt = own; at.above;) {
    const { above } = at
    const asked = { run: above.run, id, settlement: own.settlement, ...defined({ isLook }) }
    at = unwrap(await sessions.at(above.session).confirm(asked))
  }
  return own
}

function spentBy(asked: {
  readonly outcome: 'released' | 'spent'
  readonly tokens?: number | undefined
  readonly costUsd?: number | undefined
}): Partial<ModelAmount> {
  if (asked.outcome === 'released') return { tokens: 0, costNanoUsd: 0 }
  const { tokens, costUsd } = asked
  return {
    ...defined({ tokens }),
    ...(costUsd !== undefined && { costNanoUsd: Math.round(costUsd * 1e9) }),
  }
}

const inDollars = ({ tokens, costNanoUsd }: ModelAmount) => ({
  tokens,
  costUsd: costNanoUsd / 1e9,
})
