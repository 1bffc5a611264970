import type * as z from 'zod'
import { dayQuery, ownUsageQuery, usageQuery } from './record-requests.ts'
import { IsolaError } from '#contracts/errors.ts'
import { unlimited } from '#contracts/lease.ts'
import type { UsageSum } from '#contracts/operations.ts'
import type { DayAmount, DayUsage } from '#runtime/session/types/principal.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { dayMs, defaultListLimit, maxWindowMs } from '#platform/routes/list-queries.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { unconfirmedSum } from './unconfirmed.ts'

/** `GET /api/operator/usage`: a principal's day as it stands or, with `by`, what was spent, as the record has it. */
export const readUsage =
  (deps: HttpDeps) =>
  (context: HttpContext): Promise<Response> => {
    const query = context.req.query()
    if (isReport(query)) return readReport(deps, parseFields(usageQuery, query))
    const { principal = context.get('principal').id } = parseFields(dayQuery, query)
    return readDay(deps, principal)
  }

/** `GET /api/usage`: the same of the caller alone. */
const readOwnUsage =
  (deps: HttpDeps) =>
  (context: HttpContext): Promise<Response> => {
    const principal = context.get('principal').id
    const query = parseFields(ownUsageQuery, context.req.query())
    if (!isReport(query)) return readDay(deps, principal)
    return readReport(deps, parseFields(usageQuery, { ...context.req.query(), principal }))
  }

/** Who says since when means the record, and is told what is missing. */
const isReport = ({ by, since, until }: Readonly<Record<string, unknown>>): boolean =>
  [by, since, until].some((one) => one !== undefined)

async function readDay(deps: HttpDeps, principal: string): Promise<Response> {
  const { day, limits, settled, reserved, openRuns } = await dayOf(deps, principal)
  const sinceMs = startOf(day)
  const unconfirmed = await unconfirmedSum(deps, { principal, sinceMs })
  return jsonResponse({
    principal,
    day,
    limits: shown(limits),
    settled: shown(settled),
    reserved: shown(reserved),
    ...(unconfirmed.tokens > 0 && { unconfirmed }),
    openRuns,
  })
}

const isLimited = ({ tokens, costNanoUsd }: DayAmount): boolean =>
  tokens < unlimited || costNanoUsd < unlimited

const startOf = (day: string): number => Date.parse(`${day}T00:00:00Z`)

/** The day of a principal as it stands; what a day without a limit has settled is read from the record. */
export async function dayOf(deps: HttpDeps, principal: string): Promise<DayUsage> {
  const usage = await deps.principals.usage(principal)
  if (isLimited(usage.limits)) return usage
  return { ...usage, settled: await recorded(deps, principal, startOf(usage.day)) }
}

/** The ledger counts no day that is not limited: the record does. */
async function recorded(deps: HttpDeps, principal: string, sinceMs: number): Promise<DayAmount> {
  const asked = { by: 'principal', sinceMs, untilMs: sinceMs + dayMs, limit: 1, principal } as const
  const { total } = await deps.usage.sum(asked)
  return { tokens: total.tokens, costNanoUsd: total.costNanoUsd }
}

async function readReport(deps: HttpDeps, query: z.infer<typeof usageQuery>): Promise<Response> {
  const { by, principal: of, limit = defaultListLimit } = query
  const untilMs = query.until ?? deps.sources.clock.nowMs() + 1
  const sinceMs = query.since ?? untilMs - dayMs
  if (untilMs - sinceMs > maxWindowMs) {
    const message = 'since: at most 31 days before until; ask for a part at a time.'
    throw new IsolaError('request_invalid', message, { param: 'since' })
  }
  const asked = { by, sinceMs, untilMs, limit, ...(of !== undefined && { principal: of }) }
  const { rows, total, deployment } = await deps.usage.sum(asked)
  return jsonResponse({
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
  })
}

const inDollars = <T extends Pick<UsageSum, 'costNanoUsd' | 'platformNanoUsd'>>({
  costNanoUsd,
  platformNanoUsd,
  ...rest
}: T) => ({ ...rest, costUsd: costNanoUsd / 1e9, platformUsd: platformNanoUsd / 1e9 })

/** `null` for what has no limit; dollars as everywhere else on this surface. */
export function shown({ tokens, costNanoUsd }: DayAmount) {
  return {
    tokens: tokens >= unlimited ? null : tokens,
    costUsd: costNanoUsd >= unlimited ? null : costNanoUsd / 1e9,
  }
}

/** What the caller has spent, for every role. */
export const addOwnUsageRoute = (addRoute: AddRoute, deps: HttpDeps): void =>
  addRoute('/api/usage', { GET: readOwnUsage(deps) })
