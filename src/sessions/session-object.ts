import { DurableObject } from 'cloudflare:workers'
import { Lifecycle, type LifecycleJobContext } from 'agents/lifecycle'
import type { AgentResult } from '#contracts/agent.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import type { Message } from '#contracts/message.ts'
import type { SessionRuntime } from '#contracts/runtime.ts'
import type {
  Reply,
  RunView,
  SessionApi,
  SessionTree,
  StorageAnswer,
  StorageRequest,
  Submission,
  SubmitRequest,
  SubmitReceipt,
} from '#contracts/session.ts'
import { admit, noSuchSession, unknownAgent, type Admitted } from './admission.ts'
import { createAuditOutbox, type AuditOutbox } from './audit-outbox.ts'
import { eventsAfter, eventsOfRun } from './log-view.ts'
import { createRuns, type Audience, type Runs } from './runs.ts'
import { createSpace, type Space } from './space.ts'
import { createSessionStore, type RunRow, type SessionRow, type SessionStore } from './store.ts'
import { createStreamHub, type StreamHub } from './stream-hub.ts'
import { createTranscript, type Transcript } from './transcript.ts'
import { cancelChildren, deleteChildren, stop, stopAll } from './subtree.ts'
import { treeOf, viewOf } from './tree.ts'

/** While a run is live, or the audit log is behind, the object is woken this often; after a crash, that is how soon. */
const recoverEveryMs = 10_000

interface Parts {
  readonly store: SessionStore
  readonly hub: StreamHub
  readonly transcript: Transcript
  readonly outbox: AuditOutbox
  readonly runs: Runs
  readonly space: Space
}

/** The class behind the `SESSION` binding. The runtime is built once per isolate, so no room imports upward. */
export function createSessionClass(runtimeOf: () => SessionRuntime) {
  return class extends DurableObject<Env> implements SessionApi {
    readonly lifecycle = Lifecycle.install(this)
    readonly #runtime = runtimeOf()
    #parts = this.#open()
    #id = ''
    #hasRecoveryJob = false
    #isDeleting = false
    readonly #waiting = new Map<string, number>()

    /** What this object remembers of its session; made anew when the session is deleted. */
    #open(): Parts {
      const { storage } = this.ctx
      const { audit, clock } = this.#runtime
      const sync = () => storage.sync()
      const store = createSessionStore(storage)
      const hub = createStreamHub(sync)
      const transcript = createTranscript(store, this.#runtime.kernel.messagesOf)
      const outbox = createAuditOutbox({ store, sink: audit, clock })
      const runs = createRuns({
        runtime: this.#runtime,
        store,
        hub,
        transcript,
        sync,
        sessionId: () => this.#id,
        onAccept: ({ submission }) => this.#ensureSession(submission),
        onAccepted: () => this.#ensureRecovery(),
        onBroken: (run) => cancelChildren(run, store, this.#runtime.sessions),
        onFinished: () => {
          outbox.nudge()
          if (runs.isIdle()) hub.rest()
        },
      })
      return { store, hub, transcript, outbox, runs, space: createSpace(storage, clock) }
    }

    onStart(): void {
      this.#id = this.#parts.store.session()?.id ?? ''
      this.#hasRecoveryJob = this.#id !== '' && this.lifecycle.jobs.get('recover') !== undefined
      this.#parts.runs.resume()
    }

    async onJob({ job }: LifecycleJobContext): Promise<{ rescheduleAt: number } | void> {
      if (job.fn !== 'recover') return
      this.#parts.runs.resume()
      const isCarried = await this.#parts.outbox.flush()
      if (this.#parts.runs.isIdle() && isCarried && this.#parts.outbox.isEmpty()) {
        this.#hasRecoveryJob = false
        return
      }
      return { rescheduleAt: this.#runtime.clock.nowMs() + recoverEveryMs }
    }

    create(about: {
      agent: string
      principal: string
      session: string
    }): Promise<Reply<SessionTree>> {
      return this.#answer(async () => {
        this.#refuseWhileDeleting()
        const existing = this.#parts.store.session()
        if (existing) return this.#tree(this.#own(about.principal))
        if (!(await this.#runtime.agents.load(about.agent, {}))) throw unknownAgent(about.agent)
        this.#id = about.session
        this.#createSession(about.agent, about.principal)
        return this.#tree(this.#own(about.principal))
      })
    }

    submit(session: string, request: SubmitRequest): Promise<Reply<SubmitReceipt>> {
      return this.#answer(async () => {
        const { receipt, live } = await this.#admit(session, request, 'reader')
        await live?.accepted
        return { ...receipt, state: this.#view(receipt.run).state }
      })
    }

    run(session: string, request: SubmitRequest): Promise<Reply<AgentResult>> {
      return this.#answer(async () => {
        const { receipt, live } = await this.#admit(session, request, 'result')
        await live?.accepted
        if (live) return this.#awaited(receipt.run, live.done)
        const { result } = this.#view(receipt.run)
        if (result) return result
        throw new IsolaError('request_unavailable', 'The run is being taken up again. Try again.')
      })
    }

    runStream(session: string, request: SubmitRequest): ReturnType<SessionApi['runStream']> {
      return this.#answer(async () => {
        const { store, hub } = this.#parts
        const { receipt, live } = await this.#admit(session, request, 'reader')
        const { run } = receipt
        const backlog = eventsOfRun(store, run)
        // Usually nothing is written yet: the model's request goes first.
        if (backlog.length > 0) await this.ctx.storage.sync()
        const reader = this.#runtime.ids.next('req')
        const stream = hub.attach({
          id: reader,
          afterSeq: 0,
          run,
          follow: live !== undefined,
          backlog,
        })
        await live?.accepted
        return { receipt: { ...receipt, state: this.#view(run).state }, reader, stream }
      })
    }

    result(principal: string, run: string): Promise<Reply<RunView>> {
      return this.#answer(async () => {
        this.#own(principal)
        return this.#view(run)
      })
    }

    events(
      principal: string,
      options: Parameters<SessionApi['events']>[1],
    ): Promise<Reply<ReadableStream<Uint8Array>>> {
      return this.#answer(async () => {
        this.#own(principal)
        if (options.run !== undefined) this.#row(options.run)
        await this.ctx.storage.sync() // what is sent with an id must be durable
        const isOpen =
          options.run === undefined
            ? !this.#parts.runs.isIdle()
            : this.#parts.runs.live(options.run) !== undefined
        return this.#parts.hub.attach({
          afterSeq: options.afterSeq,
          ...(options.run !== undefined && { run: options.run }),
          follow: options.follow && isOpen,
          backlog: eventsAfter(this.#parts.store, options.afterSeq, 'full'),
        })
      })
    }

    cancel(principal: string, run: string, reason: string): Promise<Reply<RunView>> {
      return this.#answer(async () => {
        this.#own(principal)
        this.#row(run)
        await stop(this.#parts.runs.live(run), reason)
        return this.#view(run)
      })
    }

    abandon(principal: string, run: string, reader: string): Promise<Reply<RunView>> {
      return this.#answer(async () => {
        this.#own(principal)
        this.#row(run)
        this.#parts.hub.detach(reader)
        const isAwaited = this.#waiting.has(run) || this.#parts.hub.hasReaders(run)
        if (!isAwaited) await stop(this.#parts.runs.live(run), 'The client closed its stream.')
        return this.#view(run)
      })
    }

    async cancelCall(parentRun: string, call: string, reason: string): Promise<void> {
      await this.lifecycle.start()
      const started = this.#parts.runs.startedBy(parentRun, call)
      await Promise.all(started.map((live) => stop(live, reason)))
    }

    transcript(principal: string): Promise<Reply<readonly Message[]>> {
      return this.#answer(async () => {
        this.#own(principal)
        return this.#parts.transcript.all()
      })
    }

    tree(principal: string): Promise<Reply<SessionTree>> {
      return this.#answer(async () => this.#tree(this.#own(principal)))
    }

    delete(principal: string): Promise<Reply<{ deleted: true }>> {
      return this.#answer(async () => {
        this.#own(principal)
        this.#refuseWhileDeleting()
        this.#isDeleting = true
        try {
          const { runs, outbox, store } = this.#parts
          await stopAll(runs.all(), 'The session was deleted.')
          if (!(await outbox.flush())) throw notYetDeletable()
          await deleteChildren(principal, store, this.#runtime.sessions)
          if (!runs.isIdle() || !outbox.isEmpty()) throw notYetDeletable()
          store.drop()
          this.#hasRecoveryJob = false
          this.#parts = this.#open()
          await this.lifecycle.jobs.cancel('recover')
          return { deleted: true }
        } finally {
          this.#isDeleting = false
        }
      })
    }

    async storage(request: StorageRequest): Promise<StorageAnswer> {
      if (!this.lifecycle.isStarted()) await this.lifecycle.start()
      return this.#parts.space(request)
    }

    /** Rows this object has written since it was loaded; read by the benchmark. */
    async rowsWritten(): Promise<number> {
      return this.#parts.store.rowsWritten()
    }

    /** While somebody waits for a run, a closed stream of somebody else does not cancel it. */
    async #awaited<T>(run: string, done: Promise<T>): Promise<T> {
      this.#waiting.set(run, (this.#waiting.get(run) ?? 0) + 1)
      try {
        return await done
      } finally {
        const left = (this.#waiting.get(run) ?? 1) - 1
        if (left > 0) this.#waiting.set(run, left)
        else this.#waiting.delete(run)
      }
    }

    #refuseWhileDeleting(): void {
      if (this.#isDeleting)
        throw new IsolaError('request_unavailable', 'The session is being deleted.')
    }

    #admit(session: string, request: SubmitRequest, audience: Audience): Promise<Admitted> {
      this.#refuseWhileDeleting()
      if (this.#id === '') this.#id = session
      return admit(request, { ...this.#parts, runtime: this.#runtime, session, audience })
    }

    #ensureSession({ agent, principal, lineage }: Submission): void {
      if (!this.#parts.store.session()) this.#createSession(agent, principal, lineage)
    }

    /** One job while a run is live or the audit log is behind. Written in the same go as the run. */
    #ensureRecovery(): void {
      if (this.#hasRecoveryJob) return
      this.#hasRecoveryJob = true
      const time = this.#runtime.clock.nowMs() + recoverEveryMs
      this.lifecycle.jobs.push({ id: 'recover', fn: 'recover', time }).catch(() => {
        this.#hasRecoveryJob = false // the next run asks for it again
      })
    }

    #createSession(agent: string, principal: string, lineage?: SessionRow['lineage']): void {
      this.#parts.store.createSession({
        id: this.#id,
        agent,
        principal,
        ...(lineage && { lineage }),
        createdAtMs: this.#runtime.clock.nowMs(),
      })
      this.#parts.outbox.begin()
    }

    /** The session, if it is this principal's; an absent one and another's look alike. */
    #own(principal: string): SessionRow {
      const session = this.#parts.store.session()
      if (!session || session.principal !== principal) {
        throw noSuchSession()
      }
      return session
    }

    #row(run: string): RunRow {
      const row = this.#parts.store.findRun(run)
      if (!row) throw new IsolaError('request_not_found', 'There is no such run in this session.')
      return row
    }

    #view(run: string): RunView {
      return viewOf(this.#row(run), this.#id, this.#parts.store, this.#stateOf)
    }

    #tree(session: SessionRow): Promise<SessionTree> {
      return treeOf({
        session,
        store: this.#parts.store,
        sessions: this.#runtime.sessions,
        stateOf: this.#stateOf,
      })
    }

    readonly #stateOf = ({ startSeq, cancelReason }: RunRow): RunView['state'] => {
      if (startSeq !== undefined) return 'running'
      return cancelReason === undefined ? 'queued' : 'cancelled'
    }

    /** Expected failures travel as values: classes do not survive RPC. A bug is thrown. */
    async #answer<T>(work: () => Promise<T>): Promise<Reply<T>> {
      if (!this.lifecycle.isStarted()) await this.lifecycle.start()
      try {
        return { ok: true, value: await work() }
      } catch (error) {
        const code = errorCode(error)
        if (code === undefined) throw error
        const param = error instanceof IsolaError ? error.param : undefined
        return {
          ok: false,
          error: { code, message: errorMessage(error), ...(param !== undefined && { param }) },
        }
      }
    }
  }
}

const notYetDeletable = () => {
  const message = 'The record of this session could not be saved yet, so it is kept. Try again.'
  return new IsolaError('request_unavailable', message)
}
