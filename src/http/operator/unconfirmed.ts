import { unconfirmedQuery, unconfirmedRequest } from '#contracts/api/requests/record.ts'
import { IsolaError } from '#contracts/errors.ts'
import { deploymentEvent } from '#contracts/event.ts'
import type { ModelAmount } from '#contracts/lease.ts'
import { unwrap } from '#contracts/reply.ts'
import type { ConfirmedAttempt } from '#contracts/unconfirmed.ts'
import { readJsonObject } from '../body.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { isRunId, isSessionId } from '../headers.ts'
import { dayMs, defaultListLimit } from '../list-queries.ts'
import { jsonResponse } from '../responses.ts'
import { parseFields } from '../validate.ts'
import { administrator } from './administrator.ts'

/** `GET /api/operator/unconfirmed`: failed requests that may have reached a provider, and what they hold. */
export const listUnconfirmed =
  (deps: HttpDeps) =>
  async (context: HttpContext): Promise<Response> => {
    const { principal, since, limit } = parseFields(unconfirmedQuery, context.req.query())
    const sinceMs = since ?? deps.sources.clock.nowMs() - dayMs
    const attempts = await unconfirmedSince(deps, { principal, sinceMs })
    return jsonResponse({ attempts: attempts.slice(0, limit ?? defaultListLimit) })
  }

/** As many as one page of the record has. */
const maxRead = 500

/** Those of the record that nobody has settled, the newest first. */
export async function unconfirmedSince(
  deps: HttpDeps,
  { principal, sinceMs }: { readonly principal?: string | undefined; readonly sinceMs: number },
) {
  const read = (type: string, of?: string) =>
    deps.audit.query({
      type,
      sinceMs,
      order: 'desc',
      limit: maxRead,
      ...(of !== undefined && { principal: of }),
    })
  const [failed, confirmed] = await Promise.all([
    read('model_failed', principal),
    read('attempt_confirmed'),
  ])
  const settled = new Set(confirmed.records.map(({ data }) => textOf(data, 'attempt')))
  return failed.records.flatMap(({ session, run, seq, agent, atMs, data, principal: whose }) => {
    const id = `${session}.${run}.${seq}`
    const tokens = numberOf(data, 'bookedTokens')
    if (tokens === 0 || settled.has(id)) return []
    const costUsd = numberOf(data, 'bookedCostNanoUsd') / 1e9
    const model = `${textOf(data, 'provider')}/${textOf(data, 'model')}`
    const about = { id, principal: whose, session, run, agent, atMs }
    return [{ ...about, model, code: textOf(data, 'code'), tokens, costUsd }]
  })
}

const textOf = (data: Readonly<Record<string, unknown>>, key: string): string =>
  String(data[key] ?? '')
const numberOf = (data: Readonly<Record<string, unknown>>, key: string): number =>
  Number(data[key] ?? 0)

/**
 * `POST /api/operator/unconfirmed/:id`: from the session of the attempt up to that of the root, each step once, however
 * often it is asked; the record comes last, so that a request that was cut is repeated.
 */
export const confirmAttempt =
  (deps: HttpDeps) =>
  async (context: HttpContext): Promise<Response> => {
    const id = context.req.param('id') ?? ''
    const asked = parseFields(unconfirmedRequest, await readJsonObject(context.req.raw))
    const [session = '', run = '', place = ''] = id.split('.')
    if (!isSessionId(session) || !isRunId(run) || !/^\d{1,15}$/.test(place))
      throw new IsolaError('request_not_found', 'There is no such attempt.', { param: 'id' })
    const own = unwrap(
      await deps.sessions
        .at(session)
        .confirm({ run, id, seq: Number(place), spent: spentBy(asked) }),
    )
    const { settlement, principal } = own
    let at: ConfirmedAttempt = own
    while (at.above) {
      const { above } = at
      at = unwrap(await deps.sessions.at(above.session).confirm({ run: above.run, id, settlement }))
    }
    const { held, spent } = settlement
    const { principal: by, trace, requestId: request } = administrator(deps, context)
    const told = {
      session,
      owner: principal,
      run,
      attempt: id,
      heldTokens: held.tokens,
      heldCostNanoUsd: held.costNanoUsd,
      ...spent,
      request,
    }
    // Also where a step of it had been taken: a second line says the same of the same attempt.
    if (own.isNew || at.isNew) {
      const place = { principal: by, trace, atMs: deps.sources.clock.nowMs() }
      await deps.deploymentLog.append(deploymentEvent('attempt_confirmed', place, told))
    }
    return jsonResponse({ id, principal, held: inDollars(held), spent: inDollars(spent) })
  }

function spentBy(asked: {
  readonly outcome: 'released' | 'spent'
  readonly tokens?: number | undefined
  readonly costUsd?: number | undefined
}): Partial<ModelAmount> {
  if (asked.outcome === 'released') return { tokens: 0, costNanoUsd: 0 }
  const { tokens, costUsd } = asked
  return {
    ...(tokens !== undefined && { tokens }),
    ...(costUsd !== undefined && { costNanoUsd: Math.ceil(costUsd * 1e9) }),
  }
}

const inDollars = ({ tokens, costNanoUsd }: ModelAmount) => ({
  tokens,
  costUsd: costNanoUsd / 1e9,
})
