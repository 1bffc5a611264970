import type { StreamItem } from '#contracts/event.ts'
import type { RunView } from '#contracts/run-view.ts'
import type { SessionGateway } from '#contracts/session-api.ts'
import type { Clock } from '#contracts/sources.ts'
import type { SubmitRequest } from '#contracts/submission.ts'
import { unwrap } from '../responses.ts'
import { answersByCall, asksOf, openAsks, type Ask, type Askable } from './asks.ts'
import { followRun, type RunToFollow } from './follow-run.ts'

/** A run that is begun for somebody. */
export interface NewRun {
  readonly session: string
  readonly submission: SubmitRequest
  /** Nobody waits for it. */
  readonly isBackground?: boolean
}

/** A run that is there, for somebody who comes back to it. */
export interface RunPlace {
  readonly session: string
  readonly run: string
}

type Following = Pick<RunToFollow, 'signal' | 'isCancelledByClose' | 'waitMs' | 'keepAlive'>

/** Somebody who waits for a run, and may be asked something meanwhile; `Asked` is how they are asked. */
export interface Conversation<Asked> extends Following {
  readonly sessions: SessionGateway
  readonly clock: Clock
  readonly principal: string
  /** What they can be asked; absent if nothing, and they see what the run waits for. */
  readonly can: Askable | undefined
  /** What came along for these questions, by their keys. */
  readonly given: (asks: readonly Ask[]) => Readonly<Record<string, unknown>>
  readonly ask: (view: RunView, asks: readonly Ask[]) => Promise<Asked>
  /** They cannot be asked this, and it has to be answered: the run is not left waiting. */
  readonly refuse: (view: RunView, asks: readonly Ask[]) => Promise<never>
  /** Told what happens from now on. A listener each time a run is followed. */
  readonly listen: () => (item: StreamItem) => void
}

/** How often one request may answer, be asked again and answer again. */
const maxRounds = 32

/**
 * Has a run work until it is over, waits for someone else, or takes too long. What it asks of its client is answered
 * out of what came along, else the client is asked, and comes back. One that cannot be asked sees what the run waits for.
 */
export async function converse<Asked>(
  conversation: Conversation<Asked>,
  of: RunPlace | NewRun,
): Promise<RunView | Asked> {
  const { can } = conversation
  let view = await ('run' in of ? resume(conversation, of) : start(conversation, of))
  for (let round = 0; can && round < maxRounds; round += 1) {
    const asks = asksOf(view)
    if (asks.length === 0) return view
    // Whatever comes after what was asked has no answer yet.
    const given = round === 0 ? conversation.given(asks) : {}
    const { possible, impossible } = openAsks(asks, can, given)
    if (impossible.length > 0) return conversation.refuse(view, impossible)
    if (possible.length > 0) return conversation.ask(view, possible)
    await decide(conversation, view, { asks, given })
    view = await resume(conversation, { session: view.session, run: view.id })
  }
  return view
}

async function decide(
  { sessions, principal }: Conversation<unknown>,
  { session, id }: RunView,
  from: { readonly asks: readonly Ask[]; readonly given: Readonly<Record<string, unknown>> },
): Promise<void> {
  const api = sessions.at(session)
  for (const [call, output] of answersByCall(from.asks, from.given)) {
    const { asksHash = '' } = from.asks.find((ask) => ask.call === call) ?? {}
    unwrap(await api.decide(principal, id, call, { decision: 'result', output, asksHash }))
  }
}

async function start(conversation: Conversation<unknown>, run: NewRun): Promise<RunView> {
  const { session, submission, isBackground } = run
  const api = conversation.sessions.at(session)
  if (isBackground) {
    const { run: id } = unwrap(await api.submit(session, submission))
    return unwrap(await api.result(submission.principal, id))
  }
  const { receipt, stream } = unwrap(await api.runStream(session, submission))
  return follow(conversation, { session, run: receipt.run, stream, sinceMs: 0 })
}

/** A run that is there, from now on. */
async function resume(
  conversation: Conversation<unknown>,
  { session, run }: RunPlace,
): Promise<RunView> {
  const { sessions, clock, principal } = conversation
  const sinceMs = clock.nowMs()
  const options = { afterSeq: 0, run, follow: true }
  const stream = unwrap(await sessions.at(session).events(principal, options))
  return follow(conversation, { session, run, stream, sinceMs })
}

function follow(
  conversation: Conversation<unknown>,
  at: RunPlace & { readonly stream: ReadableStream<Uint8Array>; readonly sinceMs: number },
): Promise<RunView> {
  const { sessions, principal, clock, signal, isCancelledByClose, waitMs } = conversation
  const tell = conversation.listen()
  return followRun({
    api: sessions.at(at.session),
    principal,
    run: at.run,
    stream: at.stream,
    waitMs,
    clock,
    signal,
    isCancelledByClose,
    onItem: (item) => {
      if (item.type === 'message_delta' || item.atMs >= at.sinceMs) tell(item)
    },
    keepAlive: conversation.keepAlive,
  })
}
