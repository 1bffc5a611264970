import { defined } from '#contracts/defined.ts'
import type * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import { zeroUsage } from '#contracts/lease.ts'
import { unwrap } from '#contracts/reply.ts'
import type { RequestLimits } from '#features/access/types/request-limits.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { SessionAbout, SessionTree } from '#runtime/session/types/session-view.ts'
import type { Sources } from '#contracts/sources.ts'
import type { AgentAdministration } from '#features/agents/types.ts'
import { administratorOf } from '#runtime/session/requests/asker.ts'
import { readIdempotencyKey } from '#platform/routes/headers.ts'
import { jsonResponse } from '#platform/routes/answer.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { lookForAgent, orchestrator, type Targets } from '#platform/routes/targets.ts'
import { toLimits } from '#platform/routes/limits.ts'
import type { createSessionRequest } from '#runtime/session/requests/session-requests.ts'

export interface CreateDeps extends Targets {
  readonly sessions: SessionGateway
  readonly storedAgents: Pick<AgentAdministration, 'show'>
  readonly limits: Pick<RequestLimits, 'newSession'>
  readonly sources: Sources
}

/** `POST /api/sessions`. An idempotency key names the session, so that a repeated request meets the one it made. */
export async function createSession(
  deps: CreateDeps,
  context: RequestContext,
  request: z.output<typeof createSessionRequest>,
): Promise<Response> {
  const idempotencyKey = readIdempotencyKey(context.raw.headers)
  const { agent = orchestrator, persona } = request
  const asking = context.caller
  const { id: principal } = asking
  if (!(await lookForAgent(deps, asking, agent))) {
    const why = await whyItRests(deps, context, agent)
    const message = why ?? 'agent: there is no such agent. GET /v1/models lists them.'
    throw new IsolaError('request_not_found', message, { param: 'agent' })
  }
  const limits = toLimits(request.limits)
  // Three parts: no name that a client can choose for a session gives the same id.
  const session =
    idempotencyKey === undefined
      ? deps.sources.ids.next('ses')
      : await deps.sessions.idFor('named', [principal, 'create', idempotencyKey])
  await deps.limits.newSession(asking, session)
  const spoken = persona === undefined ? {} : { persona }
  const about = { agent, principal, session, ...defined({ limits }), ...spoken }
  const made = unwrap(await deps.sessions.at(session).create(about))
  const headers = { location: `/api/sessions/${session}` }
  return jsonResponse(asMade({ ...made, ...spoken }), { status: 201, headers })
}

/** Why an agent that the caller may see does not run. For other callers the agent does not exist. */
async function whyItRests(
  { storedAgents }: Pick<CreateDeps, 'storedAgents'>,
  context: RequestContext,
  agent: string,
) {
  // Where that cannot be read, it is said as before.
  const found = await storedAgents.show(agent, administratorOf(context)).catch(() => undefined)
  if (!found) return undefined
  if (found.state === 'archived')
    return `agent: ${agent} is put aside, and nobody runs it: isola agent show ${agent}`
  return found.inForce
    ? undefined
    : `agent: ${agent} waits for an operator: isola agent show ${agent}`
}

/** The session as it was on its first day, whatever has happened since: a repeated request is answered alike. */
function asMade({ id, agent, principal, createdAtMs, persona }: SessionAbout): SessionTree {
  const nothing = { runs: [], usage: zeroUsage, costEstimateUsd: 0, children: [] }
  const spoken = persona === undefined ? {} : { persona }
  return { id, agent, ...spoken, principal, createdAtMs, ...nothing }
}
