import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import {
  runOptionFields,
  claimProtocol,
  sessionProtocol,
  type ClientAnswers,
  type Submission,
  type SubmitReceipt,
  type SubmitRequest,
} from '../types/submission.ts'
import { type RunOptions } from '#contracts/run-options.ts'
import type { ReadyAgent, SessionRuntime } from '../types/runtime.ts'
import { keyedRunId } from '../storage/ids.ts'
import { noSuchSession, otherBody, refuseAtWork, unknownAgent } from '../storage/refusals.ts'
import { checkNothingAsked, checkPlace, namedRun } from '../responses/response-places.ts'
import { reclaimFloor } from '../floor/floors.ts'
import { isReturn } from '../floor/message-router.ts'
import { loadAgent } from './run.ts'
import type { Audience, LiveRun } from './live-runs.ts'
import type { NewRun, Runs } from './runs.ts'
import type { Children } from '../storage/children.ts'
import type { SessionStore } from '../storage/store.ts'
import type { Todo } from '../storage/todo.ts'

/** A submission over this does not fit its row. */
const maxSubmissionBytes = 1_900_000

interface AdmissionOptions {
  readonly runtime: SessionRuntime
  readonly store: SessionStore
  readonly runs: Runs
  readonly todo: Todo
  readonly children: Children
  readonly session: string
  readonly audience: Audience
  /** Of a request with a claim: rejects if the claim does not hold. */
  readonly proof?: Promise<void> | undefined
  /** Checked again once the agent is loaded: a deletion that began meanwhile has cancelled the runs of that moment. */
  readonly refuseWhileDeleting?: () => void
  /** Gives a run the results of its client's tools. @returns Whether the run had them before. */
  readonly answerRun: (asked: {
    readonly request: SubmitRequest
    readonly answers: ClientAnswers
  }) => Promise<boolean>
}

export interface Admitted {
  readonly receipt: Omit<SubmitReceipt, 'state' | 'createdAtMs'>
  /** Absent if the run is over already. */
  readonly live: LiveRun | undefined
}

/**
 * Admits a submission: starts a run, or joins the run with the same idempotency key and body. Throws
 * `request_not_found`, `request_conflict`, `request_too_large`, `request_model_not_found`,
 * `request_idempotency_mismatch` or `request_queue_full`, and then stores nothing.
 */
export async function admit(request: SubmitRequest, options: AdmissionOptions): Promise<Admitted> {
  const { runtime, store, runs, session, todo } = options
  const submission = addressed(request, store)
  refuseCancelled(submission, todo)
  if (submission.after) namedRun(submission.after, store)
  if (request.answers) return answered(request, request.answers, options)
  if (submission.after) checkPlace(submission.after, submission.messages, store)
  if (new TextEncoder().encode(JSON.stringify(submission)).byteLength > maxSubmissionBytes) {
    const message = `The new messages are larger than ${maxSubmissionBytes} bytes.`
    throw new IsolaError('request_too_large', message, { param: 'messages' })
  }
  const { idempotencyKey: key, principal } = submission
  if (key === undefined) {
    const agent = await agentFor(submission, request, options)
    return started({ submission, bodyHash: '' }, agent, options)
  }
  const id = keyedRunId({ session, principal, key }, runtime.sha256)
  const bodyHash = bodyHashOf(submission, runtime.sha256)
  const isKnown = () => (runs.live(id) ?? store.findRun(id)) !== undefined
  if (!isKnown()) {
    const agent = await agentFor(submission, request, options)
    if (!isKnown()) return started({ id, submission, bodyHash }, agent, options)
  }
  const live = runs.live(id)
  await live?.accepted
  if (store.findRun(id)?.bodyHash !== bodyHash) throw otherBody()
  return { receipt: { session, run: id, isJoined: true }, live }
}

async function agentFor(
  submission: Submission,
  request: SubmitRequest,
  { runtime, store, todo, refuseWhileDeleting }: AdmissionOptions,
): Promise<ReadyAgent> {
  const agent = await loadAgent(submission, runtime, { session: store.session() })
  if (!agent) throw unknownAgent(submission.agent)
  // Another submission may have come meanwhile: with the same key, or the session's first for another agent.
  refuseWhileDeleting?.()
  addressed(request, store)
  refuseCancelled(submission, todo)
  return agent
}

function started(run: NewRun, agent: ReadyAgent, options: AdmissionOptions): Admitted {
  const { runs, store, session, audience, proof } = options
  checkNothingAsked(run.submission, store)
  // Once more: another run may have come while the agent was loaded.
  if (run.submission.compact === 'session') refuseAtWork(options)
  const { name, hash } = agent.spec.persona ?? {}
  const persona = name !== undefined && { persona: { name, ...defined({ hash }) } }
  const live = runs.start({ ...run, ...persona }, { agent, audience, proof })
  // Takes effect at once, not when the run has its turn: the handoff agent may be at work.
  if (isReturn(run.submission.messages) && !run.submission.isNote)
    reclaimFloor({ reason: 'user' }, options)
  return { receipt: { session, run: live.id, isJoined: false }, live }
}

/** Without an await after the answers: the run takes the results of its client's tools, and is live again. */
async function answered(
  request: SubmitRequest,
  answers: ClientAnswers,
  { runs, session, answerRun }: AdmissionOptions,
): Promise<Admitted> {
  const isJoined = await answerRun({ request, answers })
  const { run } = answers
  return { receipt: { session, run, isJoined }, live: runs.live(run) }
}

/** Refuses a call whose cancellation arrived first (a tombstone). */
function refuseCancelled({ lineage }: Submission, todo: Todo): void {
  if (!lineage || todo.tombstoneOf(lineage.parentRun, lineage.parentCall) === undefined) return
  throw new IsolaError('request_conflict', 'The call was cancelled before it began.')
}

/** Decides which agent works. An absent session and another principal's session look alike. */
function addressed(request: SubmitRequest, store: SessionStore): Submission {
  const { agent, mustExist, allowedAgents, protocol = 1, answers: _answers, ...said } = request
  const { claim, ...rest } = said
  const known = claim === undefined ? sessionProtocol : claimProtocol
  if (protocol > known) {
    const message = `This session runs an older version (protocol ${known}, asked ${protocol}). Try again.`
    throw new IsolaError('request_conflict', message)
  }
  const existing = store.session()
  if (existing && existing.principal !== rest.principal) throw noSuchSession()
  if (existing?.lineage && !rest.lineage) {
    const message =
      'This session belongs to a call of ' +
      `${existing.lineage.parentSession}: send what is to be done there.`
    throw new IsolaError('request_conflict', message)
  }
  if (!existing && mustExist) throw noSuchSession()
  const works = existing?.agent ?? agent
  if (works === undefined) throw noSuchSession()
  if (existing?.agent !== undefined && allowedAgents?.includes(existing.agent) === false)
    throw noSuchSession()
  if (agent !== undefined && works !== agent) {
    const message = `This session talks to "${works}"; start another one for "${agent}".`
    throw new IsolaError('request_conflict', message)
  }
  return { ...rest, agent: works }
}

/**
 * Whether a field of a submission, besides its options, is part of its body. A retry may change the other fields (its
 * trace, its lineage with the parent's lease, its principal's key, limits and persona), or only a surface reads them.
 */
const besidesOptions: Readonly<Record<Exclude<keyof Submission, keyof RunOptions>, boolean>> = {
  agent: true,
  principal: true,
  messages: true,
  begunBy: true,
  after: true,
  isStateless: true,
  trace: false,
  traceLink: false,
  idempotencyKey: false,
  lineage: false,
  dayLimits: false,
  keyPersona: false,
  echo: false,
}

const isOfBody = new Map<string, boolean>([
  ...Object.entries(besidesOptions),
  ...Object.entries(runOptionFields).map(([name, { isHashed }]) => [name, isHashed] as const),
])

/**
 * The hash of the request that an idempotency key stands for. Stored rows have it, so it is the same in every
 * version.
 */
export function bodyHashOf(submission: Submission, sha256: (text: string) => string): string {
  // The same words are the same request, whatever label they have.
  const messages = submission.messages.map(({ label: _label, ...said }) => said)
  const body = Object.entries({ ...submission, messages }).filter(([name]) => isOfBody.get(name))
  return sha256(JSON.stringify(Object.fromEntries(body)))
}
