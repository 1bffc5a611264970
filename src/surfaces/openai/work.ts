import type * as z from 'zod'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Limits } from '#contracts/lease.ts'
import type { ModelParameters } from '#contracts/model.ts'
import type { Principal } from '#contracts/operations.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import type { RunOutcome } from '#runtime/session/types/session-view.ts'
import type { StartedStream, SessionGateway } from '#runtime/session/types/session-api.ts'
import type { SubmitReceipt } from '#runtime/session/types/submission.ts'
import type { SessionTask, Submitted, SessionEntry } from '#runtime/session/types/session-entry.ts'
import { submitAsCaller } from '#runtime/session/requests/open-session.ts'
import { isSessionId, readIdempotencyKey, readPrintable } from '#platform/routes/headers.ts'
import { toParameters } from '#platform/routes/limits.ts'
import { resolveTarget, type Targets } from '#platform/routes/targets.ts'
import {
  chooseTools,
  type ClientTool,
  clientToolNames,
  toClientTools,
  type toolChoice,
} from './client-tools.ts'
import type { History } from './history.ts'
import { carryOut, type RequestPlan, planAfter, planAlone, planIn } from './plan.ts'
import type { PlaceInSession } from './wire-ids.ts'
import type { RequestContext, OnFault } from '#platform/routes/request.ts'
import type { ReadImage } from '#platform/outbound/types.ts'
import type { RequestLimits } from '#features/access/types/request-limits.ts'
import type { AgentDirectory } from '#runtime/session/types/runtime.ts'
import type { ToldAnswers } from '#features/policy/types.ts'
import type { GoneClient } from '#platform/routes/types.ts'
import type { DeploymentLog } from '#contracts/event.ts'
import type { Sources } from '#contracts/sources.ts'

/** The dependencies of the routes of `/v1`. */
export interface OpenaiDeps extends Targets {
  readonly agents: Targets['agents'] & Pick<AgentDirectory, 'listRunnable' | 'toolNames'>
  readonly sessions: SessionGateway
  readonly entry: SessionEntry
  readonly limits: Pick<RequestLimits, 'newSession'>
  /** The labels of earlier answers to clients of `/v1`. */
  readonly toldAnswers: Pick<ToldAnswers, 'labelled'>
  /** Absent where every model server may be given addresses. */
  readonly readImage?: ReadImage | undefined
  readonly deploymentLog: DeploymentLog
  readonly sources: Sources
  /** Kept alive with `waitUntil` where the platform has it. */
  readonly onClientGone?: (gone: GoneClient) => Promise<void> | void
  /** Gets what a caller never sees. */
  readonly onFault?: OnFault
}

/** A request of either API as its parser has read it. */
export interface ParsedRequest {
  readonly origin: 'chat' | 'responses'
  /** The named agent or model. */
  readonly model: string
  readonly instructions?: string | null | undefined
  readonly sampling: Parameters<typeof toParameters>[0]
  readonly responseFormat: ModelParameters['responseFormat']
  readonly limits?: Partial<Limits>
  readonly tools: readonly unknown[] | null | undefined
  readonly toolChoice: z.infer<typeof toolChoice> | null | undefined
  readonly isParallel: boolean | null | undefined
  /**
   * The conversation. Read once the model is known to exist; `isNamed`: the session already has the earlier messages.
   */
  readonly history: (isNamed: boolean) => Promise<History>
  /** Where it goes on, if the body says so: behind a response, or in a session. */
  readonly place?: (() => PlaceInSession | { readonly session: string }) | undefined
  /** The client may fetch the outcome later. */
  readonly isKept: boolean
  readonly isBackground: boolean
  /** The fields of the request that the session stores, to repeat them. */
  readonly echo?: (session: string, tools: readonly ClientTool[]) => JsonObject
}

/** The outcome of a request, and the form in which it was sent. */
interface Done<T> {
  readonly plan: RequestPlan
  readonly value: T
}

/** A request, ready to be sent: each method carries it out. */
export interface Work {
  readonly principal: string
  readonly trace: string
  readonly echo: JsonObject
  readonly isBackground: boolean
  /** The model that the request names; absent where it names an agent. */
  readonly namedModel: string | undefined
  readonly submit: () => Promise<Done<SubmitReceipt>>
  readonly run: () => Promise<Done<RunOutcome>>
  readonly runStream: () => Promise<Done<StartedStream>>
}

/** Whose voice the orchestrator has in this run. */
const personaHeader = 'x-isola-persona'

/**
 * The way from a parsed request to a submission, for both APIs. Throws `request_…` for a request that cannot be
 * submitted.
 */
export async function toWork(
  deps: OpenaiDeps,
  context: RequestContext,
  parsed: ParsedRequest,
): Promise<Work> {
  const { headers } = context.raw
  const { origin, isBackground } = parsed
  const asking = context.caller
  const key = readIdempotencyKey(headers)
  const named = parsed.place ? undefined : readPrintable(headers, 'x-isola-session', 200)
  const persona = readPrintable(headers, personaHeader, 64)
  const target = await resolveTarget(deps, asking, parsed.model)
  const given = await parsed.history(named !== undefined)
  const messages = await deps.toldAnswers.labelled(asking.id, given.messages)
  const history = { ...given, messages }
  const taken = await deps.agents.toolNames(clientToolNames(parsed.tools))
  const tools = toClientTools(parsed.tools, taken)
  const { clientTools, toolChoice: held } = chooseTools(tools, parsed.toolChoice)
  const plan = await planOf(deps, { place: parsed.place?.(), history, asking, named, key })
  const echo = parsed.echo?.(plan.session, tools)
  const isAlone = !parsed.place && named === undefined
  const instructions = [parsed.instructions, history.instructions].filter(Boolean).join('\n\n')
  const trace = context.trace()
  const base: Omit<SessionTask, 'messages' | 'session'> = {
    agent: target.agent,
    ...(instructions !== '' && { clientInstructions: instructions }),
    ...defined({ model: target.model, persona }),
    parameters: toParameters({
      ...parsed.sampling,
      toolChoice: held,
      parallelToolCalls: parsed.isParallel === false ? false : undefined,
      responseFormat: parsed.responseFormat,
    }),
    ...trace,
    // A client of `/v1` runs its own tools, and has no way to approve or to answer: a call that needs that fails with
    // the reason.
    pauses: 'client_tools',
    ...(clientTools.length > 0 && { clientTools }),
    ...defined({ limits: parsed.limits }),
    ...(isAlone && { bringsAll: true }),
    ...(isAlone && !parsed.isKept && { isStateless: true }),
    // A caller who named the session, or fetches the outcome later, can raise a limit.
    ...((isBackground || !isAlone) && { mayRaise: true }),
    ...defined({ echo }),
  }
  const carried = <T>(how: (work: Submitted) => Promise<ObjectReply<T>>) =>
    carryOut(plan, ({ session, request }) =>
      how(
        submitAsCaller(
          { ...deps, asking },
          context,
          { ...base, ...request, session },
          { key, origin },
        ),
      ),
    ).catch((error: unknown) => {
      throw aboutHeader(error)
    })
  return {
    principal: asking.id,
    trace: trace.trace,
    echo: echo ?? {},
    isBackground,
    namedModel: target.model,
    submit: () => carried((work) => work.submit()),
    run: () => carried((work) => work.run()),
    runStream: () => carried((work) => work.runStream()),
  }
}

/** An error about a persona names the header as it was sent. */
function aboutHeader(cause: unknown): unknown {
  if (!(cause instanceof IsolaError) || cause.param !== 'persona') return cause
  const message = cause.message.replace(/^persona/, personaHeader)
  return new IsolaError(cause.code, message, { param: personaHeader, cause })
}

async function planOf(
  deps: OpenaiDeps,
  at: {
    readonly place: PlaceInSession | { readonly session: string } | undefined
    readonly history: History
    readonly asking: Principal
    readonly named: string | undefined
    readonly key: string | undefined
  },
): Promise<RequestPlan> {
  const { place, history, named } = at
  if (place && 'run' in place) return planAfter(place, history)
  if (place) return planIn(place.session, history, true)
  const session = await sessionFor(deps, at)
  // An id that we gave out: if it is gone, a new session would silently lack the history.
  return named === undefined
    ? planAlone(session, history)
    : planIn(session, history, isSessionId(named))
}

/** Only `x-isola-session` names a session; other clients' session headers come with full history. */
export async function sessionFor(
  deps: OpenaiDeps,
  by: {
    readonly asking: Pick<Principal, 'id' | 'role'>
    readonly named?: string | undefined
    readonly key: string | undefined
  },
): Promise<string> {
  const { asking, named, key } = by
  if (named !== undefined) {
    if (isSessionId(named)) return named
    const session = await deps.sessions.idFor('named', [asking.id, named])
    await deps.limits.newSession(asking, session)
    return session
  }
  // A retry must meet the run of the first attempt, so the key, not chance, names the session. Three parts:
  // no name that a client can choose gives the same id.
  if (key !== undefined) return deps.sessions.idFor('named', [asking.id, 'idempotency-key', key])
  return deps.sources.ids.next('ses')
}
