import { IsolaError } from '#contracts/errors.ts'
import type { RunMemo, RunOutcome, RunView } from './types/run-view.ts'
import type { StartedStream } from './types/session-api.ts'
import type { SubmitReceipt, SubmitRequest } from './types/submission.ts'
import { toRepeated } from './entry/submission.ts'
import { eventsPage } from './log/log-view.ts'
import { memoOf, outcomeOf } from './log/views.ts'
import type { Scope } from './scope.ts'
import { stopped } from './upkeep/subtree.ts'
import { refuseWithoutAgent } from './waiting/agent-there.ts'
import { answerRun, type AnswerRequest } from './waiting/client-answers.ts'
import { admit, type Admitted } from './runs/admission.ts'
import type { Audience } from './runs/runs.ts'

/** What is asked of a session, and taken back: runs, read or waited for or left to themselves. */
export interface Submissions {
  readonly admit: (session: string, request: SubmitRequest, audience: Audience) => Promise<Admitted>
  readonly submit: (session: string, request: SubmitRequest) => Promise<SubmitReceipt>
  readonly run: (session: string, request: SubmitRequest) => Promise<RunOutcome>
  readonly runStream: (session: string, request: SubmitRequest) => Promise<StartedStream>
  readonly retry: (run: string) => Promise<SubmitReceipt>
  readonly hide: (principal: string, run: string) => RunMemo
  readonly cancel: (principal: string, run: string, reason: string) => Promise<RunView>
  readonly abandon: (principal: string, run: string, reader: string) => Promise<RunView>
}

/** @param onSession Told which session somebody comes to, before it is there. */
export function createSubmissions(scope: Scope, onSession: (session: string) => void): Submissions {
  const { runtime, parts, own, row, view, viewOptions, refuseWhileDeleting } = scope
  const waiting = new Map<string, number>()

  /** While somebody waits for a run, a closed stream of somebody else does not cancel it. */
  const awaited = async <T>(run: string, done: Promise<T>): Promise<T> => {
    waiting.set(run, (waiting.get(run) ?? 0) + 1)
    try {
      return await done
    } finally {
      const left = (waiting.get(run) ?? 1) - 1
      if (left > 0) waiting.set(run, left)
      else waiting.delete(run)
    }
  }
  const toReceipt = (receipt: Admitted['receipt']): SubmitReceipt => {
    const { state, createdAtMs } = view(receipt.run)
    return { ...receipt, state, createdAtMs }
  }
  const giveAnswers = async (asked: AnswerRequest) => {
    const waiting = parts().store.findRun(asked.answers.run)
    if (waiting) await refuseWithoutAgent(waiting, scope)
    refuseWhileDeleting()
    return answerRun(asked, { ...parts(), runtime })
  }
  const admitTo: Submissions['admit'] = async (session, asked, audience) => {
    const { isCatalogSilent, ...request } = asked
    refuseWhileDeleting()
    onSession(session)
    if (isCatalogSilent) runtime.onCatalogSilent?.()
    const about = { runtime, session, audience, refuseWhileDeleting, answerRun: giveAnswers }
    return admit(request, { ...parts(), ...about })
  }

  return {
    admit: admitTo,
    async submit(session, request) {
      const { receipt, live } = await admitTo(session, request, 'reader')
      await live?.accepted
      return toReceipt(receipt)
    },
    async run(session, request) {
      const { receipt, live } = await admitTo(session, request, 'result')
      await live?.accepted
      if (live) return awaited(receipt.run, live.done)
      const outcome = outcomeOf(row(receipt.run), viewOptions())
      if (outcome) return outcome
      throw new IsolaError('request_unavailable', 'The run is being taken up again. Try again.')
    },
    async runStream(session, request) {
      const { store, hub, runs } = parts()
      const { receipt, live } = await admitTo(session, request, 'reader')
      const { run } = receipt
      // Usually nothing is written yet: the model's request goes first.
      const hasBegun = store.findRun(run)?.startSeq !== undefined
      if (hasBegun) await scope.synced()
      const read = (after: number, upTo: number) => {
        const order = store.findRun(run)?.order
        return order === undefined ? [] : eventsPage(store, { after, upTo, order })
      }
      const reader = runtime.ids.next('req')
      const stream = hub.attach({
        id: reader,
        afterSeq: 0,
        run,
        follow: runs.live(run) !== undefined,
        isBeginner: true,
        upTo: hasBegun ? store.lastSeq() : 0,
        read,
      })
      await live?.accepted.catch((error: unknown) => {
        hub.detach(reader)
        throw error
      })
      return { receipt: toReceipt(receipt), reader, stream }
    },
    async retry(run) {
      const { submission, order } = row(run)
      if (parts().store.final(order)?.error?.code !== 'run_given_up') {
        throw new IsolaError('request_conflict', 'Only a run that was given up can be retried.')
      }
      if (submission.lineage) {
        throw new IsolaError('request_conflict', 'Its caller has gone on: retry the run above it.')
      }
      const again = toRepeated(submission, { under: `retry:${run}`, messages: submission.messages })
      const { receipt, live } = await admitTo(scope.id(), again, 'result')
      await live?.accepted
      return toReceipt(receipt)
    },
    hide(principal, run) {
      own(principal)
      refuseWhileDeleting()
      const { runs } = parts()
      runs.change(row(run), { isHidden: true })
      // Nobody could read what it comes to, and what it holds is wanted elsewhere.
      runs.cancel(row(run), 'The response was deleted.')
      return memoOf(row(run), viewOptions())
    },
    async cancel(principal, run, reason) {
      own(principal)
      await stopped(parts().runs.cancel(row(run), reason))
      return view(run)
    },
    async abandon(principal, run, reader) {
      own(principal)
      const asked = row(run)
      const { hub, runs } = parts()
      hub.detach(reader)
      const isAwaited = waiting.has(run) || hub.hasReaders(run)
      if (!isAwaited) await stopped(runs.cancel(asked, 'The client closed its stream.'))
      return view(run)
    },
  }
}
