import type {
  Answers,
  Conversation,
  Converse,
  NewRun,
  Question,
  RunPlace,
} from '../types/follow-run.ts'
import { unwrap } from '#contracts/reply.ts'
import type { RunView } from '../types/run-view.ts'
import type { SessionGateway } from '../types/session-api.ts'
import type { Clock } from '#contracts/sources.ts'
import { followRun } from './follow-run.ts'
import { answersByCall, openQuestions, questionsOf } from './questions.ts'

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
    async start({ work, isBackground }: NewRun): Promise<RunView> {
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
