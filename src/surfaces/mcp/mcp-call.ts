import {
  type ServerContext,
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  MissingRequiredClientCapabilityError,
  PROTOCOL_VERSION_META_KEY,
  type ClientCapabilities,
  type InputRequests,
  type InputRequiredResult,
  type RequestStateCodec,
} from '@modelcontextprotocol/server'
import type { StreamItem, ToldData } from '#contracts/event.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { Conversation, BegunRun, Question } from '#runtime/session/types/session-entry.ts'
import { joinLabels } from '#contracts/label.ts'
import type { RunView } from '#runtime/session/types/session-view.ts'
import type { McpDeps } from './deps.ts'
import type { McpClient } from './caller.ts'
import { sessionOf, invalidParams } from './older-clients.ts'

/**
 * Sends the turns and tool calls of a run to the client, if it asked for progress. Contract: never throws; a client
 * that is gone does not concern the run.
 */
function createTeller({ mcpReq }: ServerContext): (item: StreamItem) => void {
  const token = mcpReq._meta?.progressToken
  let progress = 0
  const tell = (
    message: string,
    at: Pick<ToldData<'tool_progress'>, 'progress' | 'total'> = {},
  ) => {
    if (token === undefined) return
    // Progress has to grow: an item without a number counts on from the last.
    progress = at.progress === undefined ? progress + 1 : Math.max(at.progress, progress)
    const total = at.total === undefined ? {} : { total: at.total }
    const params = { progressToken: token, progress, ...total, message }
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }
  return (item) => {
    if (item.type === 'message_delta') return
    if (item.type === 'tool_log') {
      const { level = 'info', message = '' } = item.data
      mcpReq.log(level, message).catch(() => undefined)
    }
    if (item.type === 'tool_progress') tell(item.data.message, item.data)
    if (item.type === 'tool_started' && item.data.parent === undefined)
      tell(`calls ${item.data.tool}`)
    if (item.type === 'message_finished') tell(`turn ${item.data.turn}`)
  }
}

/** So long a call waits for its run; then it answers where to ask. Clients give up after 60 s. */
const waitMs = 25_000

/** Which run a client that was asked something goes on with; sealed, since the client carries it. */
export interface CallState {
  readonly session: string
  readonly run: string
  /** Digest of what was called, with its arguments: a state goes on with that only. */
  readonly about: string
  /** `asksHash` of the questions: the answers count for these alone. */
  readonly asked: readonly string[]
}

/** One request at `/mcp`, on its way to a run. */
export interface McpRequest {
  readonly deps: McpDeps
  readonly caller: McpClient
  readonly context: ServerContext
  /** Nothing without `ISOLA_MASTER_KEY`. */
  readonly states: RequestStateCodec<CallState> | undefined
  readonly about: string
}

/**
 * A session for a call that names none: a session that a client of 2025 can name again, or a fresh one for this call
 * alone.
 */
export async function newSession({ deps, caller, context }: McpRequest): Promise<string> {
  const { http, mcpReq } = context
  const of = { headers: http?.req?.headers, request: mcpReq.id }
  const named = isModern(context) ? undefined : await sessionOf(deps, caller.principal, of)
  return named ?? deps.sources.ids.next('ses')
}

/** Whether an answer asks the client for something first (2026-07-28). */
export const isAsking = (answer: object): answer is InputRequiredResult =>
  'resultType' in answer && answer.resultType === 'input_required'

/**
 * Begins a run for a call, or goes on with the one that asked its client something: that one comes back with the same
 * call (2026-07-28, "multi round-trip requests").
 */
export async function runCall(
  call: McpRequest,
  begin: () => Promise<BegunRun>,
): Promise<RunView | InputRequiredResult> {
  const state = stateOf(call)
  return call.deps.entry.converse(toConversation(call, state?.asked), state ?? (await begin()))
}

function toConversation(
  call: McpRequest,
  asked: readonly string[] | undefined,
): Conversation<InputRequiredResult> {
  const { caller, context } = call
  const { mcpReq } = context
  return {
    principal: caller.principal,
    waitMs,
    signal: mcpReq.signal,
    isCancelledByClose: isModern(context),
    keepAlive: caller.keepAlive,
    can: capabilitiesOf(context),
    mayApprove: caller.mayApprove,
    given: (asks) => givenTo(asks, asked, call),
    ask: (view, asks) => ask(call, view, asks),
    refuse: (view, asks) => refuse(call, view, asks),
    listen: () => createTeller(context),
  }
}

/**
 * The answers in a request to questions that its client was shown. A key alone does not suffice: another question may
 * have it. Answers in a new call are not for earlier questions.
 */
function givenTo(
  asks: readonly Question[],
  asked: readonly string[] | undefined,
  { context }: McpRequest,
): Readonly<Record<string, unknown>> {
  const isShown = ({ asksHash }: Question) => !asked || asked.includes(asksHash)
  const shown = new Set(asks.filter(isShown).map(({ key }) => key))
  const given = Object.entries(context.mcpReq.inputResponses ?? {})
  return Object.fromEntries(given.filter(([key]) => shown.has(key)))
}

/** The state that came with the request, whose seal the handler has checked. Of another call it is refused. */
function stateOf({ context, about }: McpRequest): CallState | undefined {
  const state = context.mcpReq.requestState<CallState>()
  if (state === undefined || state.about === about) return state
  throw invalidParams('requestState: is of another call.')
}

/** Whether a request is of 2026-07-28, which names its protocol itself; a request of 2025 may have any value there. */
const isModern = ({ mcpReq }: ServerContext): boolean =>
  PROTOCOL_VERSION_META_KEY in Object(mcpReq.envelope)

/** None of a client of 2025: it cannot be asked here. */
const capabilitiesOf = (context: ServerContext): ClientCapabilities | undefined =>
  isModern(context)
    ? Reflect.get(Object(context.mcpReq.envelope), CLIENT_CAPABILITIES_META_KEY) // the handler has checked it
    : undefined

/** Before a client has it. */
export async function told({ deps, caller }: McpRequest, view: RunView): Promise<RunView> {
  const { result, pauses = [] } = view
  const labels = [...(result ? [result.label] : []), ...pauses.map(({ label }) => label)]
  if (labels.length > 0) await deps.toldClients.tell(caller.asker, joinLabels(labels))
  return view
}

async function ask(
  call: McpRequest,
  view: RunView,
  asks: readonly Question[],
): Promise<InputRequiredResult> {
  const { states, about, context } = call
  if (!states) return refuseUnsealed(call, view)
  const { session, id: run } = await told(call, view)
  const asked = [...new Set(asks.map(({ asksHash }) => asksHash))]
  const requests = Object.fromEntries(asks.map(({ key, request }) => [key, request]))
  return inputRequired({
    inputRequests: requests as InputRequests, // in the words of its schema
    requestState: await states.mint({ session, run, about, asked }, context),
  })
}

/** No answer can come: the waiting calls are refused, so that the run does not wait for ever. */
async function refuse(
  { deps, caller }: McpRequest,
  { session, id }: RunView,
  asks: readonly Question[],
): Promise<never> {
  const reason = 'The client cannot be asked what the call asks for.'
  await deps.sessions.at(session).cancel(caller.principal, id, reason)
  const requiredCapabilities = Object.fromEntries(asks.map(({ kind }) => [kind, {}]))
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities })
}

async function refuseUnsealed(
  { deps, caller }: McpRequest,
  { session, id }: RunView,
): Promise<never> {
  const message = 'A call that asks its client needs ISOLA_MASTER_KEY: an operator must set it.'
  await deps.sessions.at(session).cancel(caller.principal, id, message)
  throw new IsolaError('config_missing', message)
}
