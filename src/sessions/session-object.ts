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
import { childrenOf, treeOf, viewOf } from './tree.ts'

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
        onAccept: (run) => this.#onAccept(run),
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
        return live ? live.done : this.#view(receipt.run).result!
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
        const stream = hub.attach({ afterSeq: 0, run, follow: live !== undefined, backlog })
        await live?.accepted
        return { receipt: { ...receipt, state: this.#view(run).state }, stream }
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
        const row = this.#row(run)
        await this.#cancel(row, reason)
        return this.#view(run)
      })
    }

    async cancelCall(parentRun: string, call: string, reason: string): Promise<void> {
      await this.lifecycle.start()
      for (const row of this.#parts.store.runs()) {
        const { lineage } = row.submission
        if (lineage?.parentRun === parentRun && lineage.parentCall === call)
          await this.#cancel(row, reason)
      }
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
        for (const row of this.#parts.store.unfinishedRuns())
          await this.#cancel(row, 'The session was deleted.')
        if (!(await this.#parts.outbox.flush())) {
          const message =
            'The record of this session could not be saved yet, so it is kept. Try again.'
          throw new IsolaError('request_unavailable', message)
        }
        const children = childrenOf(this.#parts.store)
        await Promise.all(
          children.map((child) => this.#runtime.sessions.at(child).delete(principal)),
        )
        await this.lifecycle.jobs.cancel('recover')
        this.#parts.store.drop()
        this.#hasRecoveryJob = false
        this.#parts = this.#open()
        return { deleted: true }
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

    #admit(session: string, request: SubmitRequest, audience: Audience): Promise<Admitted> {
      if (this.#id === '') this.#id = session
      return admit(request, { ...this.#parts, runtime: this.#runtime, session, audience })
    }

    #onAccept(run: RunRow): void {
      if (!this.#parts.store.session())
        this.#createSession(run.submission.agent, run.submission.principal, run.submission.lineage)
      if (this.#hasRecoveryJob) return
      this.#hasRecoveryJob = true
      const time = this.#runtime.clock.nowMs() + recoverEveryMs
      // Written in the same go as the run. Should it fail, the next run asks for it again.
      this.lifecycle.jobs.push({ id: 'recover', fn: 'recover', time }).catch(() => {
        this.#hasRecoveryJob = false
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

    async #cancel(row: RunRow, reason: string): Promise<void> {
      const live = this.#parts.runs.live(row.id)
      if (!live) return
      live.cancel(reason)
      if (live.isStarted()) await live.done
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

    readonly #stateOf = (run: RunRow): RunView['state'] =>
      run.startSeq === undefined ? 'queued' : 'running'

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
