import type { AgentPin } from '#runtime/kernel/types/agent-pin.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import type { Limits } from '#contracts/lease.ts'
import type { ReadyAgent } from '../types/runtime.ts'
import type { RunOutcome } from '../types/run-view.ts'
import type { Submission } from '../types/submission.ts'
import { addressed, lookFor, withinFloor } from '../floor/floors.ts'
import { runStarted } from '../log/log-view.ts'
import { pinnedIn } from '../storage/run-pin.ts'
import { isStorageFault } from '../storage/storage-fault.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import { createAcceptance } from './acceptance.ts'
import type { LogPlaces } from './log-places.ts'
import { createLimitOwner } from './limit-owner.ts'
import { limitsThatStay } from './limits-in-force.ts'
import { loadAgent } from './load-agent.ts'
import { memoryOf } from './run-memory.ts'
import { loweredSince, ownLimits } from './lowered-limits.ts'
import { usedUp } from './refusals.ts'
import type { RunEnd } from './run-end.ts'
import { executeRun, type ExecutionOptions } from './run-execution.ts'
import { leaseOf, type RunLimitsOptions } from './run-limits.ts'

/** How often an accepted run asks for its lease where it cannot be asked. */
const maxLeaseTries = 5

type Shared =
  | 'runtime'
  | 'store'
  | 'todo'
  | 'children'
  | 'hub'
  | 'transcript'
  | 'sync'
  | 'sessionId'
  | 'billOf'

export interface RunWorkOptions extends Pick<ExecutionOptions, Shared | 'audience'> {
  readonly row: RunRow
  /** With it the run is new: its row is written when its first model request is out, or when it has to wait. */
  readonly agent: ReadyAgent | undefined
  readonly places: LogPlaces
  readonly end: RunEnd
  /**
   * Writes a run that is not stored yet, and what has to be there before it: all of it, or nothing.
   *
   * @returns The run as it was written.
   */
  readonly writeFirst: (run: RunRow, pin: AgentPin | undefined) => RunRow
  readonly onAccepted: () => void
  readonly counted: RunLimitsOptions['counted']
  /** A run before it could not be written. */
  readonly isBehind: () => boolean
}

/** One run while it is live: accepted or not, waiting for its turn or at work. */
export interface RunWork {
  /** Resolves once the run is accepted: its row is written. Rejects if it could not be. */
  readonly accepted: Promise<void>
  readonly state: () => 'new' | 'stored' | 'declined'
  readonly persist: () => void
  /** The run as it stands. */
  readonly row: () => RunRow
  readonly change: (more: Partial<RunRow>) => void
  readonly abort: (reason: string) => void
  readonly isStarted: () => boolean
  /** One segment: from its turn in the queue to its end, or to what it waits for. Rejects if that cannot be written. */
  readonly work: () => Promise<RunOutcome>
}

export function createRunWork(options: RunWorkOptions): RunWork {
  const { runtime, store, hub, agent, audience, places, end } = options
  const { clock } = runtime
  const { fail, writeFinal } = end
  let { row } = options
  let isWorking = false
  const cancelled = new AbortController()
  if (row.cancelReason !== undefined) cancelled.abort(new Error(row.cancelReason))
  const acceptance = createAcceptance({
    isStored: agent === undefined,
    write: () => void (row = options.writeFirst(row, agent?.pin)),
    onStored() {
      options.onAccepted()
      hub.publish(runStarted(row))
    },
    onDeclined(error) {
      cancelled.abort(error)
    },
  })
  const isStored = () => acceptance.state() === 'stored'
  const change = (more: Partial<RunRow>) => {
    const before = row
    row = { ...row, ...more }
    if (isStored()) end.change(before, more)
  }
  const begin = (isThere = (_holder: string) => true) => {
    if (row.startSeq !== undefined) return
    const begun = addressed(row, { ...options, isThere })
    change({ startSeq: places.next(), startedAtMs: clock.nowMs(), ...begun })
    if (isStored()) hub.publish(runStarted(row))
    // Whoever takes the conversation back finds what is passed on, and cancels it.
    else if (row.passedOn) acceptance.persist()
  }
  const work = async (): Promise<RunOutcome> => {
    isWorking = true
    if (options.isBehind()) throw new Error('A run before it could not be written.')
    try {
      const [ready] = await Promise.all([agent ?? load(row, options), refuseTaken(row, options)])
      await refuseTakenModel(row, ready, options)
      const lowered =
        ready.limitsNow &&
        loweredSince(row, ready.pin?.agent.spec.limits ?? ready.spec.limits, ready.limitsNow)
      if (lowered) change(lowered)
      const changes = row.changed?.count ?? 0
      const own = ownLimits(ready.spec.limits, row)
      const limits = await lease(own)
      const remembered = memoryOf(row, ready, options)
      const recalled = row.recalled ?? (await remembered.recall())
      if (recalled && !row.recalled) change({ recalled })
      begin(await lookFor(ready.toolset, options))
      const outcome = await executeRun(
        { ...ready, spec: { ...ready.spec, limits: withinFloor(limits, row, store) } },
        {
          ...options,
          audience,
          changes,
          ownerOf: createLimitOwner({ row: () => row, store, own }),
          nextSeq: places.next,
          persist: acceptance.persist,
          row: () => row,
          isWoken: agent === undefined,
          keepAdded: (added) => change({ added }),
          signal: cancelled.signal,
          writeFinal: (turn, final) => writeFinal(row, turn, final),
        },
      )
      if (outcome.state === 'parked') {
        store.keepOpen(row.order)
        // The requests that earlier wakes lost are booked in what was written.
        if (row.wakes > 0) change({ wakes: 0 })
      } else if (!row.passedOn) await remembered.keep(outcome)
      return outcome
    } catch (thrown) {
      const isNew = acceptance.state() === 'new'
      // Nothing was spent, and nobody has an answer yet: whoever asks is told, and may ask again.
      const error = isNew && errorCode(thrown)?.startsWith('lease_') ? usedUp(thrown) : thrown
      const code = errorCode(error)
      const isDeclined = code === 'request_unavailable' || code === 'request_insufficient_quota'
      if (isNew && isDeclined) acceptance.decline(error)
      if (acceptance.state() === 'declined' || isStorageFault(error)) throw error
      begin()
      acceptance.persist()
      if (code !== undefined) return fail(row, { code, message: errorMessage(error) })
      const message = 'The run failed for an internal reason.'
      return fail(row, { code: 'internal', message }, errorMessage(error))
    }
  }

  return {
    accepted: acceptance.accepted,
    state: acceptance.state,
    persist: acceptance.persist,
    row: () => row,
    change,
    abort: (reason) => cancelled.abort(new Error(reason)),
    isStarted: () => isWorking,
    work,
  }

  /** Nobody has an answer yet to a run that is new; one that was accepted waits for its lease a while. */
  async function lease(own: Limits): Promise<Limits> {
    if (cancelled.signal.aborted) return own // it ends before it spends anything
    const kept = limitsThatStay(row, store, own)
    if (kept) return kept
    for (let tries = 1; ; tries += 1) {
      try {
        return await leaseOf(row, own, options)
      } catch (error) {
        const mayWait = isStored() && tries < maxLeaseTries
        if (!mayWait || errorCode(error) !== 'request_unavailable') throw error
        await clock.sleep(runtime.timing.recoverEveryMs, cancelled.signal)
      }
    }
  }
}

/** So long after it was asked for a run is held to what was read with the key of its request. */
const freshMs = 5_000

type Looking = Pick<RunWorkOptions, 'runtime' | 'agent'>

/**
 * Whether a run has waited: for its turn, for a decision, or for this object to live again. Only a run that works in the
 * request that asked for it was checked just now. What an agent called is the agent's, whose rights its directory knows.
 */
const hasWaited = (
  { submission, createdAtMs }: RunRow,
  { runtime: { clock }, agent }: Looking,
): boolean => !submission.lineage && (!agent || clock.nowMs() - createdAtMs >= freshMs)

/** The role, an agent or a model may have been taken from the principal of a run that waited. One read. */
async function refuseTaken(row: RunRow, looking: Looking): Promise<void> {
  if (hasWaited(row, looking)) await refuseLost(row.submission, looking)
}

/**
 * A run goes on with the text that its agent had at its start, so with the model of that text. Of an agent that was
 * stored by a principal the model of the text in force is checked where it is loaded; here that of the run.
 */
async function refuseTakenModel(
  row: RunRow,
  { spec }: ReadyAgent,
  looking: Looking,
): Promise<void> {
  const { principal, agent } = row.submission
  const { model } = spec
  if (model === undefined || model === row.submission.model || !hasWaited(row, looking)) return
  const now = await looking.runtime.agents.runnable?.(principal, agent)
  if (!now || now.definition.agent.model === model) return
  await refuseLost({ principal, agent, model }, looking)
}

async function refuseLost(
  asked: Pick<Submission, 'principal' | 'agent' | 'model'>,
  { runtime }: Looking,
): Promise<void> {
  const lost = await runtime.whyNotOn?.(asked)
  if (lost) throw new IsolaError(lost.code, lost.message)
}

/** With what it was begun with, as far as that is known. */
async function load(
  row: RunRow,
  { runtime, store }: Pick<RunWorkOptions, 'runtime' | 'store'>,
): Promise<ReadyAgent> {
  const { submission } = row
  const agent = await loadAgent(submission, runtime, {
    session: store.session(),
    pin: pinnedIn(row, store),
  })
  if (agent) return agent
  throw new IsolaError(
    'request_model_not_found',
    `There is no agent "${submission.agent}" any more.`,
  )
}
