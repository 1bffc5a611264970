import { defined } from '#contracts/defined.ts'
import type * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import { unlimited } from '#contracts/lease.ts'
import type { UsageReport, UsageSum } from '../types/operations.ts'
import type { DayAmount, DayUsage, PrincipalReader } from '#runtime/session/types/principal.ts'
import { dayMs, defaultListLimit, maxWindowMs } from '#platform/routes/queries.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { parseFields } from '#platform/routes/validate.ts'
import type { AuditDeps } from './audit.ts'
import { dayQuery, usageQuery } from './requests.ts'
import { unconfirmedSum } from './audit.ts'

/** Where a day is read: the principal's ledger, and the record for a day without a limit. */
export interface DayDeps {
  readonly principals: Pick<PrincipalReader, 'usage'>
  readonly usage: UsageReport
}
export type UsageDeps = DayDeps & AuditDeps

/** `GET /api/operator/usage`: a principal's present day or, with `by`, a report on spending from the record. */
export function readUsage(deps: UsageDeps, { search, caller }: RequestContext) {
  if (isReport(search)) return readReport(deps, parseFields(usageQuery, search))
  const { principal = caller.id } = parseFields(dayQuery, search)
  return readDay(deps, principal)
}

/** `GET /api/usage`: the same for the caller alone. */
export function readOwnUsage(deps: UsageDeps, { search, caller: { id } }: RequestContext) {
  if (!isReport(search)) return readDay(deps, id)
  return readReport(deps, parseFields(usageQuery, { ...search, principal: id }))
}

/** A request with `since` means the report; without `by`, the refusal says so. */
const isReport = ({ by, since, until }: Readonly<Record<string, unknown>>): boolean =>
  [by, since, until].some((one) => one !== undefined)

async function readDay(deps: UsageDeps, principal: string) {
  const { day, limits, settled, reserved, openRuns } = await dayOf(deps, principal)
  const sinceMs = startOf(day)
  const unconfirmed = await unconfirmedSum(deps, { principal, sinceMs })
  return {
    principal,
    day,
    limits: shownAmount(limits),
    settled: shownAmount(settled),
    reserved: shownAmount(reserved),
    ...(unconfirmed.tokens > 0 && { unconfirmed }),
    openRuns,
  }
}

const isLimited = ({ tokens, costNanoUsd }: DayAmount): boolean =>
  tokens < unlimited || costNanoUsd < unlimited

const startOf = (day: string): number => Date.parse(`${day}T00:00:00Z`)

/** The present day of a principal; spending of an unlimited day is read from the record. */
export async function dayOf(deps: DayDeps, principal: string): Promise<DayUsage> {
  const usage = await deps.principals.usage(principal)
  if (isLimited(usage.limits)) return usage
  return { ...usage, settled: await recorded(deps, principal, startOf(usage.day)) }
}

/** The ledger does not count an unlimited day, so the record does. */
async function recorded(
  deps: Pick<DayDeps, 'usage'>,
  principal: string,
  sinceMs: number,
): Promise<DayAmount> {
  const asked = { by: 'principal', sinceMs, untilMs: sinceMs + dayMs, limit: 1, principal } as const
  const { total } = await deps.usage.sum(asked)
  return { tokens: total.tokens, costNanoUsd: total.costNanoUsd }
}

async function readReport(
  deps: Pick<UsageDeps, 'usage' | 'sources'>,
  query: z.output<typeof usageQuery>,
) {
  const { by, principal: of, limit = defaultListLimit } = query
  const untilMs = query.until ?? deps.sources.clock.nowMs() + 1
  const sinceMs = query.since ?? untilMs - dayMs
  if (untilMs - sinceMs > maxWindowMs) {
    const message = 'since: at most 31 days before until; ask for a part at a time.'
    throw new IsolaError('request_invalid', message, { param: 'since' })
  }
  const asked = { by, sinceMs, untilMs, limit, ...defined({ principal: of }) }
  const { rows, total, deployment } = await deps.usage.sum(asked)
  return {
    by,
    sinceMs,
    untilMs,
    rows: rows.map(inDollars),
    total: inDollars(total),
    ...(deployment && {
      deployment: {
        platform: deployment.platform,
        platformUsd: deployment.platformNanoUsd / 1e9,
      },
    }),
  }
}

const inDollars = <T extends Pick<UsageSum, 'costNanoUsd' | 'platformNanoUsd'>>({
  costNanoUsd,
  platformNanoUsd,
  ...rest
}: T) => ({ ...rest, costUsd: costNanoUsd / 1e9, platformUsd: platformNanoUsd / 1e9 })

/** `null` for an unlimited amount; costs in dollars, as everywhere in this API. */
export function shownAmount({ tokens, costNanoUsd }: DayAmount) {
  return {
    tokens: tokens >= unlimited ? null : tokens,
    costUsd: costNanoUsd >= unlimited ? null : costNanoUsd / 1e9,
  }
}
