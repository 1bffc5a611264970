import { IsolaError } from '#contracts/errors.ts'
import type { Message } from '#contracts/message.ts'
import { type ObjectReply, unwrap } from '#contracts/reply.ts'
import type { SessionTask } from '#runtime/session/types/session-entry.ts'
import { type History, invalid, type ToolOutput } from './history.ts'
import { parseCallId, type PlaceInSession, toCallId } from './wire-ids.ts'

/** The destination of a request, and the messages that go there. */
export interface RequestPlan {
  readonly session: string
  readonly request: Pick<SessionTask, 'messages' | 'answers' | 'after' | 'mustExist'>
  /** The turn after which the response begins. */
  readonly turn: number
  /** If no run waits for the answers any more. */
  readonly otherwise?: RequestPlan
}

/** A response was named: the run goes on if it waits for what came, else there is another branch. */
export function planAfter(previous: PlaceInSession, history: History): RequestPlan {
  const { session, run, turn } = previous
  const { orphans, messages } = history
  const branch = (said: readonly Message[]): RequestPlan => ({
    session,
    request: { after: { run, turn }, messages: said, mustExist: true },
    turn: 0,
  })
  if (orphans.length === 0) return branch(messages)
  const outputs = orphans.map((orphan) => toOutput(orphan, previous))
  const results = outputs.map(({ call, output }): Message => {
    const taint = ['user'] as const
    return { role: 'tool', callId: call, name: '', output, isError: false, taint }
  })
  const answer = planAnswer(previous, outputs, messages)
  return {
    ...answer,
    // The session has to exist where the request names it, also where a call id says which run goes on.
    request: { ...answer.request, after: { run, turn } },
    otherwise: branch([...results, ...messages]),
  }
}

/** The session has what was said before: a conversation, or `x-isola-session`. */
export function planIn(session: string, history: History, mustExist: boolean): RequestPlan {
  const { orphans, messages } = history
  const [first] = orphans
  if (!first) return { session, request: { messages, ...(mustExist && { mustExist }) }, turn: 0 }
  const place = parseCallId(first.callId)
  if (place?.session !== session) throw unknownCall(first)
  return planAnswer(
    place,
    orphans.map((orphan) => toOutput(orphan, place)),
    messages,
  )
}

/** Everything is in the request. If a run waits for its last outputs, that one goes on. */
export function planAlone(fresh: string, history: History): RequestPlan {
  const { messages, answers, orphans } = history
  if (orphans[0]) throw unknownCall(orphans[0])
  const alone: RequestPlan = { session: fresh, request: { messages }, turn: 0 }
  const places = answers.outputs.map(({ callId }) => parseCallId(callId))
  const [place] = places
  if (!place || places.some((other) => other?.run !== place.run)) return alone
  const outputs = answers.outputs.map((output) => toOutput(output, place))
  return { ...planAnswer(place, outputs, answers.more), otherwise: alone }
}

interface CallOutput {
  readonly call: string
  readonly turn: number
  readonly output: ToolOutput['output']
}

function planAnswer(
  { session, run }: { readonly session: string; readonly run: string },
  given: readonly CallOutput[],
  messages: readonly Message[],
): RequestPlan {
  const outputs = given.map(({ call, output }) => ({ call, output }))
  return {
    session,
    request: { answers: { run, outputs }, messages, mustExist: true },
    turn: given[0]!.turn,
  }
}

function toOutput(
  given: ToolOutput,
  place: { readonly session: string; readonly run: string },
): CallOutput {
  const parsed = parseCallId(given.callId)
  if (parsed?.run !== place.run || parsed.session !== place.session) throw unknownCall(given)
  return { call: parsed.call, turn: parsed.turn, output: given.output }
}

const unknownCall = ({ at }: ToolOutput) =>
  invalid(at, 'answers no call in this list or of the response before it')

/** Does what was planned, or else what comes next. */
export async function carryOut<T>(
  plan: RequestPlan,
  work: (plan: RequestPlan) => Promise<ObjectReply<T>>,
): Promise<{ readonly plan: RequestPlan; readonly value: T }> {
  const reply = await work(plan)
  if (!reply.ok && plan.otherwise && isPast(reply.error.code)) return carryOut(plan.otherwise, work)
  try {
    return { plan, value: unwrap(reply) }
  } catch (error) {
    throw withWireIds(error, plan)
  }
}

const isPast = (code: string): boolean =>
  code === 'request_conflict' || code === 'request_not_found'

/** An error about a call names it as the client knows it. */
function withWireIds(error: unknown, { session }: RequestPlan): unknown {
  if (!(error instanceof IsolaError) || !error.call) return error
  const { run, call } = error.call
  const message = `input: has no output for the function call ${toCallId({ session, run }, call)}.`
  return new IsolaError('request_invalid', message, { param: 'input', cause: error })
}
