import type { StreamItem } from '#contracts/event.ts'
import type {
  Following,
  ReadLog,
  Answers,
  Askable,
  Question,
  Conversation,
  Converse,
  BegunRun,
  RunPlace,
} from '../types/session-entry.ts'
import { unwrap } from '#contracts/reply.ts'
import type { RunView, PauseView } from '../types/session-view.ts'
import type { SessionApi, SessionGateway } from '../types/session-api.ts'
import type { Clock } from '#contracts/sources.ts'
import { defined } from '#contracts/defined.ts'
import { asksForYes } from '#runtime/kernel/types/asks.ts'
import type { Json, JsonObject } from '#contracts/json.ts'

/** A run whose caller waits for its outcome. */
interface RunToFollow extends Following {
  readonly api: SessionApi
  readonly principal: string
  readonly run: string
  readonly stream: ReadableStream<Uint8Array>
  readonly clock: Clock
  readonly onItem: (item: StreamItem) => void
}

const cancelReason = 'The client cancelled the call.'

/**
 * Gives the events of a run to its caller until the run is over, is parked, or the wait is over; then the run goes
 * on by itself. A client of 2026-07-28 that closes its request cancels the run. A client of 2025 cancels with
 * `notifications/cancelled`, so its lost connection is no cancel. Throws the refusal of the session.
 */
export async function followRun(options: RunToFollow): Promise<RunView> {
  const { api, principal, run, signal, keepAlive, isCancelledByClose } = options
  const cancel = () => isCancelledByClose && keepAlive(api.cancel(principal, run, cancelReason))
  if (signal.aborted) cancel() // a listener on an aborted signal never hears of it
  else signal.addEventListener('abort', cancel, { once: true })
  try {
    const isTold = await readUntil(options)
    return await viewOf(options, isTold ? maxLooks : 1)
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** Ends with the stream, with the wait, or with the client. @returns Whether the stream came to its end. */
async function readUntil({ stream, waitMs, clock, signal, onItem }: RunToFollow): Promise<boolean> {
  const over = new AbortController()
  const ended = AbortSignal.any([signal, over.signal])
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  const read = async (): Promise<void> => {
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      const lines = (rest + step.value).split('\n')
      rest = lines.pop() ?? ''
      itemsIn(lines).forEach(onItem)
    }
  }
  // A stream that broke off ends the wait: the state of the run counts.
  const reading = read().then(
    () => true,
    () => true,
  )
  const isTold = await Promise.race([reading, clock.sleep(waitMs, ended).then(() => false)])
  over.abort()
  await reader.cancel().catch(() => undefined)
  return isTold
}

const settleMs = 50
const maxLooks = 20

/** After its last event, the view of a run may need a moment to show it. */
async function viewOf(following: RunToFollow, looks: number): Promise<RunView> {
  const { api, principal, run, clock, signal } = following
  const view = unwrap(await api.result(principal, run))
  if (view.state !== 'running' || looks <= 1 || signal.aborted) return view
  await clock.sleep(settleMs, signal)
  return viewOf(following, looks - 1)
}

/** One item a line, written by our own session object. */
const itemsIn = (lines: readonly string[]): readonly StreamItem[] =>
  lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as StreamItem]))

/** Reads the events so far, without waiting for later ones. */
export const createReadLog =
  ({ sessions }: { readonly sessions: SessionGateway }): ReadLog =>
  async (principal, { session, run }) => {
    const options = { afterSeq: 0, run, follow: false }
    const stream = unwrap(await sessions.at(session).events(principal, options))
    return itemsIn((await new Response(stream).text()).split('\n'))
  }

const capabilities: ReadonlyMap<string, Question['kind']> = new Map([
  ['elicit', 'elicitation'],
  ['sample', 'sampling'],
  ['roots', 'roots'],
])

/**
 * The questions of a parked run to its client. Other pauses (an approval, a sub-agent) are no questions, nor is a
 * question whose answer needs the right to approve, for a client without that right.
 */
export function questionsOf({ pauses = [] }: RunView, mayApprove: boolean): readonly Question[] {
  const asking = pauses.filter(
    (pause) => pause.asks !== undefined && (mayApprove || !asksForYes(pause)),
  )
  return asking.flatMap((pause) =>
    Object.entries(pause.asks ?? {}).flatMap(([own, asked]) =>
      toQuestion(pause, { own, asked, isAlone: asking.length === 1 }),
    ),
  )
}

function toQuestion(
  { call, asksHash = '' }: PauseView,
  { own, asked, isAlone }: { own: string; asked: JsonObject; isAlone: boolean },
): readonly Question[] {
  const kind = capabilities.get(String(asked['kind']))
  if (!kind) return []
  const request = toRequest(kind, asked)
  const isOptional = asked['optional'] === true
  const key = isAlone ? own : `${call}.${own}`
  return [{ key, call, own, asksHash, kind, isOptional, request }]
}

function toRequest(kind: Question['kind'], asked: JsonObject): JsonObject {
  const { message = '', problem, schema = {}, messages = [], maxTokens = 0 } = asked
  const { system, temperature } = asked
  switch (kind) {
    case 'elicitation': {
      const text = problem === undefined ? message : `${String(message)} (${String(problem)})`
      const params = { mode: 'form', message: text, requestedSchema: schema }
      return { method: 'elicitation/create', params }
    }
    case 'sampling':
      return {
        method: 'sampling/createMessage',
        params: {
          messages,
          maxTokens,
          ...defined({ systemPrompt: system, temperature }),
        },
      }
    case 'roots':
      return { method: 'roots/list' }
  }
}

/** The questions without an answer, divided by whether the client can be asked. */
export function openQuestions(asks: readonly Question[], can: Askable, given: Answers) {
  const open = asks.filter(({ key }) => !Object.hasOwn(given, key))
  return {
    possible: open.filter(({ kind }) => can[kind] !== undefined),
    impossible: open.filter(({ kind, isOptional }) => can[kind] === undefined && !isOptional),
  }
}

/** The answers of each waiting call, by its own keys; `null` for an optional question that the client cannot answer. */
export function answersByCall(
  asks: readonly Question[],
  given: Answers,
): ReadonlyMap<string, JsonObject> {
  const byCall = new Map<string, JsonObject>()
  for (const { key, call, own, kind } of asks) {
    const answer = Object.hasOwn(given, key) ? toAnswer(kind, given[key]) : null
    byCall.set(call, { ...byCall.get(call), [own]: answer })
  }
  return byCall
}

/** The answer as the client sent it; the tool that asked checks its shape. */
const toAnswer = (kind: Question['kind'], answer: unknown): Json =>
  (kind === 'roots' ? (Object(answer).roots ?? []) : answer) as Json // it came as JSON

interface ConverseParts {
  readonly sessions: SessionGateway
  readonly clock: Clock
}

/** How often one request may answer, be asked again and answer again. */
const maxRounds = 32

/** Answers the questions of a run and follows it again, up to a limit of rounds. */
export const createConverse =
  (parts: ConverseParts): Converse =>
  async (conversation, of) => {
    const { can, mayApprove } = conversation
    const runs = runsOf(parts, conversation)
    let view = await ('run' in of ? runs.resume(of) : runs.start(of))
    for (let round = 0; can && round < maxRounds; round += 1) {
      const questions = questionsOf(view, mayApprove)
      if (questions.length === 0) return view
      // The request has answers for the first round only.
      const given = round === 0 ? conversation.given(questions) : {}
      const { possible, impossible } = openQuestions(questions, can, given)
      if (impossible.length > 0) return conversation.refuse(view, impossible)
      if (possible.length > 0) return conversation.ask(view, possible)
      await runs.decide(view, { questions, given })
      view = await runs.resume({ session: view.session, run: view.id })
    }
    return view
  }

/** The runs of one conversation: begun, taken up again, answered. */
function runsOf({ sessions, clock }: ConverseParts, conversation: Conversation<unknown>) {
  const { principal } = conversation

  const follow = (
    at: RunPlace & { readonly stream: ReadableStream<Uint8Array>; readonly sinceMs: number },
  ): Promise<RunView> => {
    const { waitMs, signal, isCancelledByClose, keepAlive } = conversation
    const tell = conversation.listen()
    return followRun({
      waitMs,
      signal,
      isCancelledByClose,
      keepAlive,
      principal,
      clock,
      api: sessions.at(at.session),
      run: at.run,
      stream: at.stream,
      onItem: (item) => {
        if (item.type === 'message_delta' || item.atMs >= at.sinceMs) tell(item)
      },
    })
  }

  return {
    async start({ work, isBackground }: BegunRun): Promise<RunView> {
      const { session } = work
      if (isBackground) {
        const { run } = unwrap(await work.submit())
        return unwrap(await sessions.at(session).result(principal, run))
      }
      const { receipt, stream } = unwrap(await work.runStream())
      return follow({ session, run: receipt.run, stream, sinceMs: 0 })
    },
    /** Follows an existing run from now on. */
    async resume({ session, run }: RunPlace): Promise<RunView> {
      const sinceMs = clock.nowMs()
      const options = { afterSeq: 0, run, follow: true }
      const stream = unwrap(await sessions.at(session).events(principal, options))
      return follow({ session, run, stream, sinceMs })
    },
    async decide(
      { session, id }: RunView,
      { questions, given }: { readonly questions: readonly Question[]; readonly given: Answers },
    ): Promise<void> {
      const api = sessions.at(session)
      for (const [call, output] of answersByCall(questions, given)) {
        const { asksHash = '' } = questions.find((one) => one.call === call) ?? {}
        unwrap(await api.decide(principal, id, call, { decision: 'result', output, asksHash }))
      }
    },
  }
}
