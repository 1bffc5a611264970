import { dayQuery, usageQuery } from '#contracts/api/requests/record.ts'
import { IsolaError } from '#contracts/errors.ts'
import { unlimited } from '#contracts/lease.ts'
import type { UsageSum } from '#contracts/operations.ts'
import type { DayAmount } from '#contracts/principal.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { dayMs, defaultListLimit, maxWindowMs } from '../list-queries.ts'
import { jsonResponse } from '../responses.ts'
import { parseFields } from '../validate.ts'

/** `GET /api/operator/usage`: a principal's day as it stands or, with `by`, what was spent, as the record has it. */
export const readUsage =
  (deps: HttpDeps) =>
  (context: HttpContext): Promise<Response> => {
    const { by, since, until } = context.req.query()
    // Who says since when means the record, and is told what is missing.
    const isReport = [by, since, until].some((one) => one !== undefined)
    return isReport ? readReport(deps, context) : readDay(deps, context)
  }

/** The caller's, or that of `?principal=`. */
async function readDay(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const query = parseFields(dayQuery, context.req.query())
  const of = query.principal ?? context.get('principal').id
  const { day, limits, settled, reserved, openRuns } = await deps.principals.usage(of)
  return jsonResponse({
    principal: of,
    day,
    limits: shown(limits),
    settled: shown(settled),
    reserved: shown(reserved),
    openRuns,
  })
}

async function readReport(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const query = parseFields(usageQuery, context.req.query())
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
