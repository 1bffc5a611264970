import { defined } from '#contracts/defined.ts'
import type { AgentPin } from '#runtime/kernel/types/agent-pin.ts'
import { toRunOptions, type Submission } from '../types/submission.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { ReadyAgent, SessionRuntime } from '../types/runtime.ts'
import { personaOf, pinnedIn } from '../storage/session-row.ts'
import type { SessionRow } from '../storage/stored-rows.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import type { Limits } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { RunOutcome } from '../types/session-view.ts'
import { addressed, lookFor, withinFloor } from '../floor/floors.ts'
import { runStarted } from '../log/log-view.ts'
import { isStorageFault, usedUp } from '../storage/refusals.ts'
import { limitsThatStay } from './limit-pause.ts'
import { leaseOf, loweredSince, ownLimits } from './limits.ts'
import { changeRun, declineRun, persistRun, type Run, type RunParts } from './live-runs.ts'
import { failRun } from './run-end.ts'
import { executeRun } from './run-ports.ts'

/**
 * Loads the agent of a submission with the options of that submission; `undefined` if there is no such agent.
 *
 * @param from.session Its persona goes before the persona of the key.
 * @param from.pin The pin of the run, for a run that has begun.
 */
export async function loadAgent(
  submission: Pick<Submission, 'agent' | 'lineage' | 'keyPersona' | 'principal'> & RunOptions,
  { agents }: Pick<SessionRuntime, 'agents'>,
  {
    session,
    pin,
  }: { readonly session?: SessionRow | undefined; readonly pin?: AgentPin | undefined },
): Promise<ReadyAgent | undefined> {
  // Direct calls and compactions need no persona.
  const isSilent = submission.directCall !== undefined || submission.compact !== undefined
  const persona = isSilent ? undefined : ((session && personaOf(session)) ?? submission.keyPersona)
  const { lineage, principal } = submission
  const use = { lease: lineage?.lease, pinned: pin?.agent, persona, principal }
  const ready = await agents.load(submission.agent, toRunOptions(submission), use)
  return ready && pin ? { ...ready, pin } : ready
}

/** How often an accepted run asks for its lease while the day's ledger cannot be reached. */
const maxLeaseTries = 5
/** For how long, in milliseconds, a run relies on the rights of its request before they are looked up again. */
const freshMs = 5_000

/** Works on a run from its turn in the queue until it ends or is parked. Rejects if its end cannot be written. */
export async function work(run: Run, parts: RunParts): Promise<RunOutcome> {
  run.isStarted = true
  if (parts.live.isBehind) throw new Error('A run before it could not be written.')
  try {
    return await workOnSegment(run, parts)
  } catch (error) {
    return endBroken(run, await orRefused(run, error), parts)
  }
}

/** A run whose key does not hold is refused for that, whatever else was wrong with it. */
const orRefused = async ({ proof }: Run, error: unknown): Promise<unknown> =>
  proof
    ? proof.then(
        () => error,
        (refused: unknown) => refused,
      )
    : error

/**
 * The lease of a run, once its key is known to hold: both are far, so both are asked for at once. A refused run gives
 * back what it reserved.
 */
async function provenLease(run: Run, own: Limits, parts: RunParts): Promise<Limits> {
  const leasing = takeLease(run, own, parts)
  if (!run.proof) return leasing
  const [lease, proof] = await Promise.allSettled([leasing, run.proof])
  if (proof.status === 'fulfilled') return leasing
  if (lease.status === 'fulfilled') giveBack(run, parts)
  throw proof.reason
}

/** Nothing was spent. A reservation that is not given back here is found by its ledger's own look. */
function giveBack({ id, submission }: Run, parts: RunParts): void {
  const { runtime, identity, meter, pieces } = parts
  const { principal, dayLimits: limits } = submission
  const piece = pieces.of(id)
  const spent = { tokens: 0, costNanoUsd: 0 }
  const about = { principal, session: identity.id, run: id, step: 1, counted: meter.count, spent }
  runtime.principals
    .settle({ ...about, ...defined({ limits, piece }) })
    .then(() => {
      if (piece !== undefined) pieces.settled(piece)
    })
    .catch(() => {})
}

async function workOnSegment(run: Run, parts: RunParts): Promise<RunOutcome> {
  const { store } = parts
  const ready = await readyAgent(run, parts)
  meetLoweredLimits(run, ready, parts)
  const changes = run.row.changed?.count ?? 0
  const own = ownLimits(ready.spec.limits, run.row)
  const lease = await provenLease(run, own, parts)
  const memory = memoryOf(run, ready, parts)
  const recalled = run.row.recalled ?? (await memory.recall())
  if (recalled && !run.row.recalled) changeRun(run, { recalled }, parts)
  begin(run, parts, await lookFor(ready.toolset, parts))
  const limits = withinFloor(lease, run.row, store)
  const outcome = await executeRun({ run, ready, limits, own, changes }, parts)
  if (outcome.state === 'parked') {
    store.keepOpen(run.row.order)
    // The model calls that earlier wakes lost are booked in the turns that were written.
    if (run.row.wakes > 0) changeRun(run, { wakes: 0 }, parts)
  } else if (!run.row.passedOn) await memory.keep(outcome)
  return outcome
}

/** Loads the agent of the run, unless the run came with it, and refuses a run whose rights were taken meanwhile. */
async function readyAgent(run: Run, parts: RunParts): Promise<ReadyAgent> {
  const [ready] = await Promise.all([run.agent ?? load(run, parts), refuseTaken(run, parts)])
  await refuseTakenModel(run, ready, parts)
  return ready
}

/** Loads the agent with the pin of the run, if the run has one. */
async function load({ row }: Run, { runtime, store }: RunParts): Promise<ReadyAgent> {
  const { submission } = row
  const from = { session: store.session(), pin: pinnedIn(row, store) }
  const agent = await loadAgent(submission, runtime, from)
  if (agent) return agent
  throw new IsolaError(
    'request_model_not_found',
    `There is no agent "${submission.agent}" any more.`,
  )
}

/**
 * Whether a run has waited: for its turn, for a decision, or for this object to live again. The rights of a run that
 * works in its own request were checked just now. A child works with the rights of its agent, which the directory
 * checks.
 */
const hasWaited = ({ row, agent }: Run, { runtime: { clock } }: RunParts): boolean =>
  !row.submission.lineage && (!agent || clock.nowMs() - row.createdAtMs >= freshMs)

/** Throws if the principal of a run that waited lost the role, the agent or the model. One read. */
async function refuseTaken(run: Run, parts: RunParts): Promise<void> {
  if (hasWaited(run, parts)) await refuseLost(run.submission, parts)
}

/**
 * A run goes on with the text that its agent had at its start, so with the model of that text. The directory checks the
 * model of the text in force, for an agent that a principal stored; here the model of the run is checked.
 */
async function refuseTakenModel(run: Run, { spec }: ReadyAgent, parts: RunParts): Promise<void> {
  const { principal, agent, model: asked } = run.submission
  const { model } = spec
  if (model === undefined || model === asked || !hasWaited(run, parts)) return
  const now = await parts.runtime.agents.runnable?.(principal, agent)
  if (!now || now.definition.agent.model === model) return
  await refuseLost({ principal, agent, model }, parts)
}

async function refuseLost(
  asked: Pick<Submission, 'principal' | 'agent' | 'model'>,
  { runtime }: RunParts,
): Promise<void> {
  const lost = await runtime.whyNotOn?.(asked)
  if (lost) throw new IsolaError(lost.code, lost.message)
}

function meetLoweredLimits(run: Run, { pin, spec, limitsNow }: ReadyAgent, parts: RunParts): void {
  const begunWith = pin?.agent.spec.limits ?? spec.limits
  const lowered = limitsNow && loweredSince(run.row, begunWith, limitsNow)
  if (lowered) changeRun(run, lowered, parts)
}

/** A new run fails at once, since no caller has an answer yet; an accepted run waits for its lease a while. */
async function takeLease(run: Run, own: Limits, parts: RunParts): Promise<Limits> {
  const { store, runtime } = parts
  const { signal } = run.stop
  if (signal.aborted) return own // the run ends before it spends anything
  const unchanged = limitsThatStay(run.row, store, own)
  if (unchanged) return unchanged
  for (let tries = 1; ; tries += 1) {
    try {
      return await leaseOf(run.row, own, parts)
    } catch (error) {
      const mayWait = run.state === 'stored' && tries < maxLeaseTries
      if (!mayWait || errorCode(error) !== 'request_unavailable') throw error
      await runtime.clock.sleep(runtime.timing.recoverEveryMs, signal)
    }
  }
}

/**
 * Recalls and keeps long-term memory around a run; does nothing for an agent without memory, or for a run without a
 * model.
 */
function memoryOf(
  { id, row, submission }: Run,
  { spec }: ReadyAgent,
  { runtime, store, identity }: RunParts,
): {
  readonly recall: () => Promise<Message | undefined>
  readonly keep: (outcome: RunOutcome) => Promise<void>
} {
  const { memory } = runtime
  const { principal, messages, lineage } = submission
  const isSilent = submission.directCall !== undefined || submission.compact !== undefined
  const { memory: settings, knowledge } = isSilent ? {} : spec
  // The notes of a child belong to the session that asked for it, and are deleted with that.
  const session = lineage?.rootSession ?? identity.id
  const about = { principal, agent: spec.id, session, run: id, asked: messages }
  return {
    recall: async () => {
      // A run that has begun goes on with the memory of its beginning.
      if (!memory || !(settings ?? knowledge) || store.lastTurn(row.order) > 0) return undefined
      return memory.recall(about, { memory: settings, knowledge })
    },
    keep: async (outcome) => {
      if (memory && settings && outcome.state === 'completed')
        await memory.keep(about, settings, outcome)
    },
  }
}

/** Puts the beginning of the run into the log, and settles which agent answers its message. */
function begin(run: Run, parts: RunParts, isThere = (_holder: string) => true): void {
  if (run.row.startSeq !== undefined) return
  const begun = addressed(run.row, { ...parts, isThere })
  const startSeq = parts.live.nextSeq()
  changeRun(run, { startSeq, startedAtMs: parts.runtime.clock.nowMs(), ...begun }, parts)
  if (run.state === 'stored') parts.hub.publish(runStarted(run.row))
  // A caller that takes the conversation back has to find the message that was passed on, to cancel it.
  else if (run.row.passedOn) persistRun(run, parts)
}

/** Ends a run that failed outside of the kernel: declines a new one that may be asked for again, fails any other. */
function endBroken(run: Run, thrown: unknown, parts: RunParts): RunOutcome {
  const isNew = run.state === 'new'
  // The run spent nothing and no caller has an answer yet, so the caller gets the error and may ask again.
  const error = isNew && errorCode(thrown)?.startsWith('lease_') ? usedUp(thrown) : thrown
  const code = errorCode(error)
  const isDeclined =
    code === 'request_unavailable' ||
    code === 'request_insufficient_quota' ||
    code === 'request_unauthenticated' // the claim of its request does not hold
  if (isNew && isDeclined) declineRun(run, error)
  if (run.state === 'declined' || isStorageFault(error)) throw error
  begin(run, parts)
  persistRun(run, parts)
  const message = errorMessage(error)
  if (code !== undefined) return failRun(run.row, { error: { code, message } }, parts)
  const safe = 'The run failed for an internal reason.'
  return failRun(run.row, { error: { code: 'internal', message: safe }, detail: message }, parts)
}
