import { defined } from '#contracts/defined.ts'
import type * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import type { AuditCursor, AuditQuery, AuditReader } from '../types/operations.ts'
import type { Sources } from '#contracts/sources.ts'
import { dayMs, defaultListLimit, maxWindowMs } from '#platform/routes/queries.ts'
import type { auditQuery } from './requests.ts'

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
