import {
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type ClientCapabilities,
  type InputRequiredResult,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { IsolaError } from '#contracts/errors.ts'
import type { RunView } from '#contracts/run-view.ts'
import type { SubmitRequest } from '#contracts/submission.ts'
import type { HttpDeps } from '../deps.ts'
import { unwrap } from '../responses.ts'
import { answersByCall, asksOf, openAsks, type Ask } from '../runs/asks.ts'
import type { McpCaller } from './caller.ts'
import { followRun } from '../runs/follow-run.ts'
import { sessionOf } from './older-clients.ts'
import { createTeller } from './progress.ts'

/** So long a call waits for its run; then it answers where to ask. Clients give up after 60 s. */
const waitMs = 25_000

/** Which run a client that was asked something goes on with; sealed, since the client carries it. */
export interface CallState {
  readonly session: string
  readonly run: string
  /** Digest of what was called, with its arguments: a state goes on with that only. */
  readonly about: string
  /** `asksHash` of what was asked: the answers hold for that only. */
  readonly asked: readonly string[]
}

/** One request at `/mcp`, on its way to a run. */
export interface McpCall {
  readonly deps: HttpDeps
  readonly caller: McpCaller
  readonly context: ServerContext
  /** Nothing without `ISOLA_MASTER_KEY`. */
  readonly states: RequestStateCodec<CallState> | undefined
  readonly about: string
}

/** A run that a call at `/mcp` begins. */
export interface NewRun {
  readonly session: string
  readonly submission: SubmitRequest
  /** Nobody waits for it. */
  readonly isBackground?: boolean
}

/** A session for what has none: where a client of 2025 can name it again, or one that nobody can. */
export async function newSession({ deps, caller, context }: McpCall): Promise<string> {
  const { http, mcpReq } = context
  const of = { headers: http?.req?.headers, request: mcpReq.id }
  const named = mcpReq.envelope ? undefined : await sessionOf(deps, caller.principal, of)
  return named ?? deps.sources.ids.next('ses')
}

/** Whether an answer asks the client for something first (2026-07-28). */
export const isAsking = (answer: object): answer is InputRequiredResult =>
  'resultType' in answer && answer.resultType === 'input_required'

/**
 * Has a run work until it is over, waits for someone else, or takes too long. What it asks of its client is answered out
 * of what came with the request, else the client is asked, and comes back with the same call (2026-07-28, "multi
 * round-trip requests"). A client that cannot be asked sees what the run waits for.
 */
export async function converse(
  call: McpCall,
  begin: () => Promise<NewRun>,
): Promise<RunView | InputRequiredResult> {
  const place = placeOf(call)
  const first = place ? await resume(call, place) : await start(call, await begin())
  return settle(call, first, place?.asked)
}

/** How often one request may answer, be asked again and answer again. */
const maxRounds = 32

async function settle(
  call: McpCall,
  first: RunView,
  asked: readonly string[] | undefined,
): Promise<RunView | InputRequiredResult> {
  const can = capabilitiesOf(call.context)
  let view = first
  for (let round = 0; can && round < maxRounds; round += 1) {
    const asks = asksOf(view)
    if (asks.length === 0) return view
    // Whatever comes after what was asked has no answer yet.
    const given = round === 0 ? givenTo(asks, asked, call) : {}
    const { possible, impossible } = openAsks(asks, can, given)
    if (impossible.length > 0) return refuse(call, view, impossible)
    if (possible.length > 0) return ask(call, view, possible)
    await decide(call, view, { asks, answers: answersByCall(asks, given) })
    view = await resume(call, { session: view.session, run: view.id })
  }
  return view
}

/**
 * What came with the request for questions that its client was shown; a key alone may be that of another. A new call may
 * bring answers along: they are of nothing older.
 */
function givenTo(
  asks: readonly Ask[],
  asked: readonly string[] | undefined,
  { context }: McpCall,
): Readonly<Record<string, unknown>> {
  const isShown = ({ asksHash }: Ask) => !asked || asked.includes(asksHash)
  const shown = new Set(asks.filter(isShown).map(({ key }) => key))
  const given = Object.entries(context.mcpReq.inputResponses ?? {})
  return Object.fromEntries(given.filter(([key]) => shown.has(key)))
}

/** The state that came with the request, whose seal the handler has checked. Of another call it is refused. */
function placeOf({ context, about }: McpCall): CallState | undefined {
  const state = context.mcpReq.requestState<CallState>()
  if (state === undefined || state.about === about) return state
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'requestState: is of another call.')
}

/** None of a client of 2025: it cannot be asked here. */
const capabilitiesOf = ({ mcpReq }: ServerContext): ClientCapabilities | undefined =>
  mcpReq.envelope &&
  (Reflect.get(mcpReq.envelope, CLIENT_CAPABILITIES_META_KEY) as ClientCapabilities) // the handler has checked it

async function ask(
  call: McpCall,
  view: RunView,
  asks: readonly Ask[],
): Promise<InputRequiredResult> {
  const { states, about, context } = call
  if (!states) return refuseUnsealed(call, view)
  const { session, id: run } = view
  const asked = [...new Set(asks.map(({ asksHash }) => asksHash))]
  return inputRequired({
    inputRequests: Object.fromEntries(asks.map(({ key, request }) => [key, request])),
    requestState: await states.mint({ session, run, about, asked }, context),
  })
}

/** Nobody will answer: the run is not left waiting. */
async function refuse(
  { deps, caller }: McpCall,
  { session, id }: RunView,
  asks: readonly Ask[],
): Promise<never> {
  const reason = 'The client cannot be asked what the call asks for.'
  await deps.sessions.at(session).cancel(caller.principal, id, reason)
  const requiredCapabilities = Object.fromEntries(asks.map(({ kind }) => [kind, {}]))
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities })
}

async function refuseUnsealed({ deps, caller }: McpCall, { session, id }: RunView): Promise<never> {
  const message = 'A call that asks its client needs ISOLA_MASTER_KEY: an operator must set it.'
  await deps.sessions.at(session).cancel(caller.principal, id, message)
  throw new IsolaError('config_missing', message)
}

async function decide(
  { deps, caller }: McpCall,
  { session, id }: RunView,
  {
    asks,
    answers,
  }: { readonly asks: readonly Ask[]; readonly answers: ReturnType<typeof answersByCall> },
): Promise<void> {
  const api = deps.sessions.at(session)
  for (const [call, output] of answers) {
    const { asksHash = '' } = asks.find((ask) => ask.call === call) ?? {}
    unwrap(await api.decide(caller.principal, id, call, { decision: 'result', output, asksHash }))
  }
}

async function start(call: McpCall, { session, submission, isBackground }: NewRun) {
  const api = call.deps.sessions.at(session)
  if (isBackground) {
    const { run } = unwrap(await api.submit(session, submission))
    return unwrap(await api.result(submission.principal, run))
  }
  const { receipt, stream } = unwrap(await api.runStream(session, submission))
  return follow(call, { session, run: receipt.run, stream, sinceMs: 0 })
}

/** A run that is there, from now on. */
async function resume(call: McpCall, { session, run }: Pick<CallState, 'session' | 'run'>) {
  const { sessions, sources } = call.deps
  const sinceMs = sources.clock.nowMs()
  const options = { afterSeq: 0, run, follow: true }
  const stream = unwrap(await sessions.at(session).events(call.caller.principal, options))
  return follow(call, { session, run, stream, sinceMs })
}

function follow(
  { deps, caller, context }: McpCall,
  at: {
    readonly session: string
    readonly run: string
    readonly stream: ReadableStream<Uint8Array>
    readonly sinceMs: number
  },
): Promise<RunView> {
  const tell = createTeller(context)
  return followRun({
    api: deps.sessions.at(at.session),
    principal: caller.principal,
    run: at.run,
    stream: at.stream,
    waitMs,
    clock: deps.sources.clock,
    signal: context.mcpReq.signal,
    isCancelledByClose: context.mcpReq.envelope !== undefined,
    onItem: (item) => {
      if (item.type === 'message_delta' || item.atMs >= at.sinceMs) tell(item)
    },
    keepAlive: caller.keepAlive,
  })
}
