import { z } from 'zod'
import { unlimited } from '#contracts/lease.ts'
import type { DayAmount } from '#contracts/principal.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { jsonResponse } from '../responses.ts'
import { parseFields } from '../validate.ts'

const usageQuery = z.strictObject({ principal: z.string().min(1).max(200).optional() })

/** A principal's day as it stands: the caller's, or that of `?principal=`. */
export const readUsage =
  (deps: HttpDeps) =>
  async (context: HttpContext): Promise<Response> => {
    const query = parseFields(usageQuery, context.req.query())
    const principal = query.principal ?? context.get('principal').id
    const { day, limits, settled, reserved, openRuns } = await deps.principals.usage(principal)
    return jsonResponse({
      principal,
      day,
      limits: shown(limits),
      settled: shown(settled),
      reserved: shown(reserved),
      openRuns,
    })
  }

/** `null` for what has no limit; dollars as everywhere else on this surface. */
function shown({ tokens, costNanoUsd }: DayAmount) {
  return {
    tokens: tokens >= unlimited ? null : tokens,
    costUsd: costNanoUsd >= unlimited ? null : costNanoUsd / 1e9,
  }
}
