import { defined } from '#contracts/defined.ts'
import type * as z from 'zod'
import { onDemandDefinition, type OnDemandDefinition, type AgentAdministration } from '../types.ts'
import { IsolaError } from '#contracts/errors.ts'
import { deploymentEvent, type DeploymentLog } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Principal } from '#contracts/operations.ts'
import { unwrap } from '#contracts/reply.ts'
import type { RequestLimits } from '#features/access/types/request-limits.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { SessionEntry } from '#runtime/session/types/session-entry.ts'
import type { Sources } from '#contracts/sources.ts'
import { onDemandId } from '#runtime/session/types/stored-agent.ts'
import { notingBegun } from '#runtime/session/requests/begun.ts'
import { readIdempotencyKey } from '#platform/routes/headers.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { OnFault, RequestContext } from '#platform/routes/request.ts'
import { toTaskMessage } from '#runtime/session/requests/task-message.ts'
import type { Targets } from '#platform/routes/targets.ts'
import { administratorOf, checkAgentModel } from '#runtime/session/requests/asker.ts'
import type { onDemandRequest } from './requests.ts'

const defaultTtlSeconds = 3_600

export interface OnDemandDeps {
  readonly storedAgents: Pick<AgentAdministration, 'onDemand'>
  readonly sessions: SessionGateway
  readonly entry: Pick<SessionEntry, 'submitAs'>
  readonly limits: Pick<RequestLimits, 'newSession'>
  readonly deploymentLog: DeploymentLog
  readonly models: Targets['models']
  readonly sources: Sources
  /** Gets what a caller never sees. */
  readonly onFault?: OnFault
}

/**
 * `POST /api/agents/on-demand`: an agent in a session of its own, which is deleted with the answer or when its time
 * is over. A key names the session and keeps it until then, so that a repeated request meets the same run.
 */
export async function runOnDemand(
  deps: OnDemandDeps,
  context: RequestContext,
  asked: z.output<typeof onDemandRequest>,
): Promise<Response> {
  const key = readIdempotencyKey(context.raw.headers)
  const { task, context: material, ttlSeconds, tempId, background, ...definition } = asked
  checkAgentModel(deps, context.caller, definition.agent.model)
  const by = administratorOf(context)
  const agent = await deps.storedAgents.onDemand(definition, by)
  const asking = context.caller
  const { clock, ids } = deps.sources
  // Three parts: no name that a client can choose for a session gives the same id.
  const session =
    key === undefined
      ? ids.next('ses')
      : await deps.sessions.idFor('named', [asking.id, onDemandId, key])
  await deps.limits.newSession(asking, session)
  const trace = context.trace()
  const told = {
    session,
    hash: agent.hash,
    name: definition.name,
    tools: definition.agent.uses_tools,
    ...defined({ tempId }),
    request: by.requestId,
  }
  // Written before the run begins: the event is all that is left of an agent once it is gone.
  const about = { ...trace, principal: asking.id, atMs: clock.nowMs() }
  if (key === undefined || !(await deps.sessions.at(session).about(asking.id)).ok)
    await deps.deploymentLog.append(deploymentEvent('agent_begun_on_demand', about, told))
  const keepMs = (ttlSeconds ?? defaultTtlSeconds) * 1_000
  const work = notingBegun(
    context,
    deps.entry.submitAs(
      asking,
      {
        session,
        agent: onDemandId,
        messages: [toTaskMessage({ task, ...defined({ context: material }) })],
        onDemand: { ...agent, keepMs },
        // The caller may promote the agent later: the definition is read from here then.
        echo: { onDemand: definition as unknown as JsonObject },
        // No approval is asked for: an agent on demand does not wait for days.
        pauses: 'refuse',
        ...trace,
      },
      { key, origin: 'api' },
    ),
  )
  const handle = { session, ...defined({ tempId }) }
  if (background === true) {
    const { run, createdAtMs } = unwrap(await work.submit())
    return jsonResponse({ ...handle, run, expiresAtMs: createdAtMs + keepMs }, { status: 202 })
  }
  const { id: run } = unwrap(await work.run())
  const { result, createdAtMs } = unwrap(await deps.sessions.at(session).result(asking.id, run))
  if (!result) throw new IsolaError('request_unavailable', 'It has not ended. Try again.')
  const isKept = ttlSeconds !== undefined || key !== undefined
  // A session that could not be deleted now deletes itself.
  if (!isKept)
    await deps.sessions
      .at(session)
      .delete(asking.id)
      .catch((error: unknown) => deps.onFault?.(error, by.requestId))
  const { state, result: text, output, error, usage, costEstimateUsd } = result
  return jsonResponse({
    ...handle,
    run,
    state,
    result: text,
    ...defined({ output, error }),
    usage,
    costEstimateUsd,
    ...(isKept && { expiresAtMs: createdAtMs + keepMs }),
  })
}

/** The definition of an agent on demand that the caller ran. Throws `request_not_found` if it is gone. */
export async function wasOnDemand(
  { sessions }: Pick<OnDemandDeps, 'sessions'>,
  { id }: Pick<Principal, 'id'>,
  { session, run }: { readonly session: string; readonly run: string },
): Promise<OnDemandDefinition> {
  const memo = unwrap(await sessions.at(session).recall(id, run))
  const { onDemand } = Object.values(memo.echoes)[0] ?? {}
  const parsed = onDemandDefinition.safeParse(onDemand)
  if (parsed.success) return parsed.data
  throw new IsolaError('request_not_found', 'session: there was no agent on demand in it.', {
    param: 'session',
  })
}
