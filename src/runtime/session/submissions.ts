import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { RunMemo, RunOutcome, RunView } from './types/session-view.ts'
import type { StartedStream } from './types/session-api.ts'
import type { SubmitReceipt, SubmitRequest } from './types/submission.ts'
import { toRepeated } from './entry/submit-as.ts'
import { eventsPage } from './log/log-view.ts'
import { memoOf, outcomeOf } from './log/views.ts'
import type { SessionAccess } from './session-parts.ts'
import { stopped } from './upkeep/ending.ts'
import { refuseWithoutAgent } from './waiting/pauses.ts'
import { answerRun, type AnswerRequest } from './waiting/outside.ts'
import { admit, type Admitted } from './runs/admission.ts'
import type { Audience } from './runs/live-runs.ts'
import type { Runs } from './runs/runs.ts'
import { isReturn } from './floor/message-router.ts'

/** Asks, beside the admission, whether the claim of a request holds; `undefined` for a request without one. */
function proofOf(
  { principal, key, claim }: SubmitRequest,
  { holdsClaim }: SessionAccess['runtime'],
): Promise<void> | undefined {
  if (claim === undefined) return undefined
  const ask = async () => {
    if (await holdsClaim?.({ principal, ...defined({ key }), claim })) return
    throw new IsolaError('request_unauthenticated', 'The key is not valid.')
  }
  const proof = ask()
  proof.catch(() => {}) // every reader of it sees the refusal
  return proof
}

/** Whether its admission alone changes something: answers wake a run, and a return takes the floor. */
const hasEffectAtOnce = (request: SubmitRequest, runs: Pick<Runs, 'isIdle'>): boolean =>
  request.answers !== undefined || !runs.isIdle() || isReturn(request.messages)

/** Admits a request. Before its claim is known to hold, it has neither an effect nor an answer. */
async function admitClaimed(
  request: SubmitRequest,
  options: Parameters<typeof admit>[1],
): Promise<Admitted> {
  const { runtime, runs } = options
  const proof = proofOf(request, runtime)
  if (!proof) return admit(request, options)
  if (hasEffectAtOnce(request, runs)) await proof
  const claimed = ofNow(request, runtime.clock.nowMs())
  const admitted = await admit(claimed, { ...options, proof }).catch(async (error: unknown) => {
    await proof // a refusal is told to no caller whose key does not hold
    throw error
  })
  if (admitted.receipt.isJoined || !admitted.live) await proof
  return admitted
}

/** The claim is checked against the limits of now, so they count as read now. */
const ofNow = (request: SubmitRequest, nowMs: number): SubmitRequest => {
  const { dayLimits } = request
  return dayLimits ? { ...request, dayLimits: { ...dayLimits, asOfMs: nowMs } } : request
}

export type Submissions = ReturnType<typeof createSubmissions>

/** Starts, streams, retries and cancels the runs of a session. */
export function createSubmissions(access: SessionAccess) {
  const { runtime, identity, current, own, row, view, viewOptions, refuseWhileDeleting } = access
  /** Callers that wait for the result of a run, by the run. */
  const waiting = new Map<string, number>()

  /** While a caller waits for the result of a run, the closed stream of another caller does not cancel it. */
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
    const waiting = current.parts.store.findRun(asked.answers.run)
    if (waiting) await refuseWithoutAgent(waiting, access)
    refuseWhileDeleting()
    return answerRun(asked, { ...current.parts, runtime })
  }
  const admitTo = async (
    session: string,
    request: SubmitRequest,
    audience: Audience,
  ): Promise<Admitted> => {
    refuseWhileDeleting()
    if (identity.id === '') identity.id = session
    const about = { runtime, session, audience, refuseWhileDeleting, answerRun: giveAnswers }
    return admitClaimed(request, { ...current.parts, ...about })
  }

  return {
    admit: admitTo,
    submit: async (session: string, request: SubmitRequest): Promise<SubmitReceipt> => {
      const { receipt, live } = await admitTo(session, request, 'reader')
      await live?.accepted
      return toReceipt(receipt)
    },
    run: async (session: string, request: SubmitRequest): Promise<RunOutcome> => {
      const { receipt, live } = await admitTo(session, request, 'result')
      await live?.accepted
      if (live) return awaited(receipt.run, live.done)
      const outcome = outcomeOf(row(receipt.run), viewOptions())
      if (outcome) return outcome
      throw new IsolaError('request_unavailable', 'The run is being taken up again. Try again.')
    },
    runStream: async (session: string, request: SubmitRequest): Promise<StartedStream> => {
      const { store, hub, runs } = current.parts
      const { receipt, live } = await admitTo(session, request, 'reader')
      const { run } = receipt
      // Usually the run has no row yet: its first model request goes first.
      const hasBegun = store.findRun(run)?.startSeq !== undefined
      if (hasBegun) await access.synced()
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
    retry: async (run: string): Promise<SubmitReceipt> => {
      const { submission, order } = row(run)
      if (current.parts.store.final(order)?.error?.code !== 'run_given_up') {
        throw new IsolaError('request_conflict', 'Only a run that was given up can be retried.')
      }
      if (submission.lineage) {
        throw new IsolaError('request_conflict', 'Its caller has gone on: retry the run above it.')
      }
      const again = toRepeated(submission, { under: `retry:${run}`, messages: submission.messages })
      const { receipt, live } = await admitTo(identity.id, again, 'result')
      await live?.accepted
      return toReceipt(receipt)
    },
    hide: (principal: string, run: string): RunMemo => {
      own(principal)
      refuseWhileDeleting()
      const { runs } = current.parts
      runs.change(row(run), { isHidden: true })
      // No caller could read its result, and other runs want its reservation.
      runs.cancel(row(run), 'The response was deleted.')
      return memoOf(row(run), viewOptions())
    },
    cancel: async (principal: string, run: string, reason: string): Promise<RunView> => {
      own(principal)
      await stopped(current.parts.runs.cancel(row(run), reason))
      return view(run)
    },
    abandon: async (principal: string, run: string, reader: string): Promise<RunView> => {
      own(principal)
      const asked = row(run)
      const { hub, runs } = current.parts
      hub.detach(reader)
      const isAwaited = waiting.has(run) || hub.hasReaders(run)
      if (!isAwaited) await stopped(runs.cancel(asked, 'The client closed its stream.'))
      return view(run)
    },
  }
}
