import { DurableObject } from 'cloudflare:workers'
import { Lifecycle, type LifecycleJobContext } from 'agents/lifecycle'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import { zeroUsage } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { Decision } from '#contracts/pause.ts'
import type { Incident } from '#contracts/principal.ts'
import type { SessionRuntime } from '#contracts/runtime.ts'
import type {
  Delivery,
  Reply,
  RunOutcome,
  RunSpending,
  RunView,
  SessionApi,
  SessionTree,
  StorageAnswer,
  SteerReceipt,
  StorageRequest,
  Submission,
  SubmitRequest,
  SubmitReceipt,
} from '#contracts/session.ts'
import { admit, noSuchSession, unknownAgent, type Admitted } from './admission.ts'
import { createAuditOutbox, type AuditOutbox } from './audit-outbox.ts'
import { createCourier, type Courier } from './courier.ts'
import { eventsAfter, eventsOfRun } from './log-view.ts'
import { decideCall, expirePauses, steerRun, takeDelivery } from './outside.ts'
import { pausesOf, toView } from './pauses.ts'
import { createRuns, type Audience, type Runs } from './runs.ts'
import { createSpace, type Space } from './space.ts'
import { heldByRun, spentByRun } from './spending.ts'
import { createSessionStore, type RunRow, type SessionRow, type SessionStore } from './store.ts'
import { createStreamHub, type StreamHub } from './stream-hub.ts'
import { deleteChildren, stopAll, stopped } from './subtree.ts'
import { createTodo, type Todo } from './todo.ts'
import { createTranscript, type Transcript } from './transcript.ts'
import { treeOf } from './tree.ts'

interface Parts {
  readonly store: SessionStore
  readonly todo: Todo
  readonly courier: Courier
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
    /** A run ended here without its end on record: it has to be taken up again. */
    #hasLost = false
    readonly #troubles = new Set<Incident['kind']>()
    readonly #waiting = new Map<string, number>()

    /** What this object remembers of its session; made anew when the session is deleted. */
    #open(): Parts {
      const { storage } = this.ctx
      const { audit, clock } = this.#runtime
      const sync = () => storage.sync()
      const store = createSessionStore(storage, (order) =>
        this.#report('record_unreadable', `A row of run ${order} cannot be read.`),
      )
      const todo = createTodo(storage)
      const courier = createCourier({
        todo,
        sessions: this.#runtime.sessions,
        onTrouble: (problem) => this.#report('delivery_behind', problem),
      })
      const hub = createStreamHub(sync)
      const transcript = createTranscript(store, this.#runtime.kernel.messagesOf)
      const outbox = createAuditOutbox({ store, sink: audit, clock })
      const runs = createRuns({
        runtime: this.#runtime,
        store,
        todo,
        hub,
        transcript,
        sync,
        sessionId: () => this.#id,
        onAccept: ({ submission }) => this.#ensureSession(submission),
        onAccepted: () => this.#ensureRecovery(),
        onLeft: (row, outcome) => this.#afterRun(row, outcome),
      })
      const space = createSpace(storage, clock)
      return { store, todo, courier, hub, transcript, outbox, runs, space }
    }

    onStart(): void {
      this.#id = this.#parts.store.session()?.id ?? ''
      this.#hasRecoveryJob = this.#id !== '' && this.lifecycle.jobs.get('recover') !== undefined
      this.#parts.runs.resume()
    }

    /** Never throws: a job that fails for good is forgotten, and with it the runs it was for. */
    async onJob({ job }: LifecycleJobContext): Promise<{ rescheduleAt: number } | void> {
      try {
        const next = job.fn === 'pauses' ? this.#expire() : await this.#recover()
        return next === undefined ? undefined : { rescheduleAt: next }
      } catch (error) {
        this.#report('alarm_failed', errorMessage(error).slice(0, 200))
        return { rescheduleAt: this.#inAWhile() }
      }
    }

    /** @returns When to come back, if there is something left to do. */
    async #recover(): Promise<number | undefined> {
      const { runs, outbox, courier } = this.#parts
      if (this.#hasLost) {
        this.#hasLost = false
        runs.resume()
      }
      await courier.carry()
      const isCarried = await outbox.flush()
      this.#report('audit_behind', isCarried ? undefined : 'D1 does not take the audit log.')
      if (runs.isIdle() && !this.#hasLost && isCarried && outbox.isEmpty() && courier.isDone()) {
        this.#hasRecoveryJob = false
        return undefined
      }
      return this.#inAWhile()
    }

    #expire(): number | undefined {
      const nowMs = this.#runtime.clock.nowMs()
      return expirePauses(this.#parts, { nowMs, pauseMs: this.#runtime.timing.pauseMs })
    }

    #inAWhile(): number {
      return this.#runtime.clock.nowMs() + this.#runtime.timing.recoverEveryMs
    }

    /** What follows a segment: the record, whoever else is concerned, and the lease above it. */
    #afterRun(row: RunRow, outcome: RunOutcome | undefined): void {
      const { outbox, courier, runs, hub } = this.#parts
      outbox.nudge()
      if (!courier.isDone()) {
        this.#ensureRecovery()
        void courier.carry()
      }
      if (outcome === undefined) {
        this.#hasLost = true
        this.#report('storage_failed', 'The end of a run could not be written.', row.id)
      } else if (outcome.state === 'parked') this.#watchPauses(outcome.pauses)
      else {
        if (!row.submission.lineage) this.#settleDay(row)
        const { code, message } = ('error' in outcome && outcome.error) || { code: '', message: '' }
        if (code === 'run_given_up') this.#report('run_given_up', message, row.id)
      }
      if (runs.isIdle()) hub.rest()
    }

    #watchPauses(pauses: readonly { readonly expiresAtMs?: number }[]): void {
      const ends = pauses.flatMap(({ expiresAtMs }) => expiresAtMs ?? [])
      if (ends.length === 0) return
      const planned = this.lifecycle.jobs.get('pauses')?.time ?? Number.MAX_SAFE_INTEGER
      const time = Math.min(planned, ...ends)
      this.lifecycle.jobs.push({ id: 'pauses', fn: 'pauses', time }).catch(() => {
        this.#ensureRecovery()
      })
    }

    /** The day's ledger asks by itself for what it was not told. */
    #settleDay(row: RunRow): void {
      const { principal } = row.submission
      const { tokens, costNanoUsd } = spentByRun(row, this.#parts.store.turns(row.order))
      this.#runtime.principals
        .settle({ principal, session: this.#id, run: row.id, spent: { tokens, costNanoUsd } })
        .catch(() => {})
    }

    /** Without a message: it is over. */
    #report(kind: Incident['kind'], message: string | undefined, run?: string): void {
      const about = { kind, session: this.#id, ...(run !== undefined && { run }) }
      const isKnown = this.#troubles.has(kind)
      if (message === undefined) {
        if (!isKnown) return
        this.#troubles.delete(kind)
        return this.#runtime.principals.report({ ...about, message: '', isOver: true })
      }
      this.#troubles.add(kind)
      this.#runtime.principals.report({ ...about, message })
    }

    create(about: {
      agent: string
      principal: string
      session: string
      limits?: NonNullable<SessionRow['limits']>
    }): Promise<Reply<SessionTree>> {
      return this.#answer(async () => {
        this.#refuseWhileDeleting()
        const existing = this.#parts.store.session()
        if (existing) return this.#tree(this.#own(about.principal))
        if (!(await this.#runtime.agents.load(about.agent, {}))) throw unknownAgent(about.agent)
        this.#id = about.session
        this.#createSession(about)
        return this.#tree(this.#own(about.principal))
      })
    }

    submit(session: string, request: SubmitRequest): Promise<Reply<SubmitReceipt>> {
      return this.#answer(async () => {
        const { receipt, live } = await this.#admit(session, request, 'reader')
        await live?.accepted
        return this.#receipt(receipt)
      })
    }

    run(session: string, request: SubmitRequest): Promise<Reply<RunOutcome>> {
      return this.#answer(async () => {
        const { receipt, live } = await this.#admit(session, request, 'result')
        await live?.accepted
        if (live) return this.#awaited(receipt.run, live.done)
        const outcome = this.#outcome(receipt.run)
        if (outcome) return outcome
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
        return { receipt: this.#receipt(receipt), reader, stream }
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
        await stopped(this.#parts.runs.cancel(this.#row(run), reason))
        return this.#view(run)
      })
    }

    abandon(principal: string, run: string, reader: string): Promise<Reply<RunView>> {
      return this.#answer(async () => {
        this.#own(principal)
        const row = this.#row(run)
        const { hub, runs } = this.#parts
        hub.detach(reader)
        const isAwaited = this.#waiting.has(run) || hub.hasReaders(run)
        if (!isAwaited) await stopped(runs.cancel(row, 'The client closed its stream.'))
        return this.#view(run)
      })
    }

    steer(
      principal: string,
      run: string,
      message: Message,
      idempotencyKey?: string,
    ): Promise<Reply<SteerReceipt>> {
      return this.#answer(async () => {
        this.#own(principal)
        this.#refuseWhileDeleting()
        const id =
          idempotencyKey === undefined ? this.#runtime.ids.next('evt') : `key:${idempotencyKey}`
        const place = steerRun(this.#row(run), { id, message }, this.#parts)
        return { session: this.#id, run, place }
      })
    }

    decide(
      principal: string,
      run: string,
      call: string,
      decision: Decision,
    ): Promise<Reply<RunView>> {
      return this.#answer(async () => {
        this.#own(principal)
        this.#refuseWhileDeleting()
        decideCall(this.#row(run), { call, decision }, this.#parts)
        return this.#view(run)
      })
    }

    retry(run: string): Promise<Reply<SubmitReceipt>> {
      return this.#answer(async () => {
        const { submission, order } = this.#row(run)
        if (this.#parts.store.final(order)?.error?.code !== 'run_given_up') {
          throw new IsolaError('request_conflict', 'Only a run that was given up can be retried.')
        }
        if (submission.lineage) {
          throw new IsolaError(
            'request_conflict',
            'Its caller has gone on: retry the run above it.',
          )
        }
        const again = { ...submission, idempotencyKey: `retry:${run}` }
        const { receipt, live } = await this.#admit(this.#id, again, 'result')
        await live?.accepted
        return this.#receipt(receipt)
      })
    }

    async cancelCall(parentRun: string, call: string, reason: string): Promise<void> {
      await this.lifecycle.start()
      const { store, runs, todo } = this.#parts
      const started = store.runs().filter(({ submission: { lineage } }) => {
        return lineage?.parentRun === parentRun && lineage.parentCall === call
      })
      if (started.length === 0) todo.bury(parentRun, call, reason)
      await Promise.all(started.map((row) => stopped(runs.cancel(row, reason))))
    }

    deliver(delivery: Delivery): Promise<Reply<null>> {
      return this.#answer(async () => {
        if (takeDelivery(delivery, this.#parts) === 'known') return null
        const row = this.#row(delivery.parentRun)
        if (delivery.isBackground && !row.submission.lineage) this.#settleDay(row)
        return null
      })
    }

    async spentBy(run: string): Promise<RunSpending> {
      await this.lifecycle.start()
      const { store, runs } = this.#parts
      const row = store.findRun(run)
      if (!row) return { state: runs.live(run) ? 'open' : 'unknown', usage: zeroUsage }
      const turns = store.turns(row.order)
      const usage = { ...spentByRun(row, turns) }
      if (store.final(row.order)) return { state: 'over', usage }
      const held = heldByRun(turns)
      const tokens = usage.tokens + held.tokens
      return {
        state: 'open',
        usage: { ...usage, tokens, costNanoUsd: usage.costNanoUsd + held.costNanoUsd },
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
        this.#refuseWhileDeleting()
        this.#isDeleting = true
        try {
          const { runs, outbox, store, todo } = this.#parts
          await stopAll(runs, store, 'The session was deleted.')
          if (!(await outbox.flush())) throw notYetDeletable()
          await deleteChildren(principal, store, this.#runtime.sessions)
          if (!runs.isIdle() || !outbox.isEmpty()) throw notYetDeletable()
          store.drop()
          todo.drop()
          this.#hasRecoveryJob = false
          this.#parts = this.#open()
          await this.lifecycle.jobs.cancel('recover')
          await this.lifecycle.jobs.cancel('pauses')
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
      if (this.#parts.store.session()) return
      this.#createSession({ agent, principal, ...(lineage && { lineage }) })
    }

    /** One job while a run is live or the audit log is behind. Written in the same go as the run. */
    #ensureRecovery(): void {
      if (this.#hasRecoveryJob) return
      this.#hasRecoveryJob = true
      const time = this.#inAWhile()
      this.lifecycle.jobs.push({ id: 'recover', fn: 'recover', time }).catch(() => {
        this.#hasRecoveryJob = false // the next run asks for it again
      })
    }

    #createSession(about: Pick<SessionRow, 'agent' | 'principal' | 'lineage' | 'limits'>): void {
      const { agent, principal, lineage, limits } = about
      this.#parts.store.createSession({
        id: this.#id,
        agent,
        principal,
        ...(lineage && { lineage }),
        ...(limits && { limits }),
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

    #receipt(receipt: Admitted['receipt']): SubmitReceipt {
      const { state, createdAtMs } = this.#view(receipt.run)
      return { ...receipt, state, createdAtMs }
    }

    /** What became of a run that nobody works on. */
    #outcome(run: string): RunOutcome | undefined {
      const { result, pauses, agent } = this.#view(run)
      if (result ?? !pauses) return result
      const { trace } = this.#row(run).submission
      return { id: run, sessionId: this.#id, agent, trace, state: 'parked', pauses }
    }

    #view(run: string): RunView {
      return this.#viewOf(this.#row(run))
    }

    readonly #viewOf = (row: RunRow): RunView => {
      const { id, order, submission, createdAtMs } = row
      const { store, runs } = this.#parts
      const base = { id, session: this.#id, agent: submission.agent, createdAtMs }
      const result = store.final(order)
      if (result) return { ...base, state: result.state, result }
      const pauses = runs.live(id) ? [] : pausesOf(row, store.turns(order).at(-1))
      if (pauses.length > 0) {
        const { pauseMs } = this.#runtime.timing
        return { ...base, state: 'parked', pauses: pauses.map((pause) => toView(pause, pauseMs)) }
      }
      return { ...base, state: this.#stateOf(row) }
    }

    #tree(session: SessionRow): Promise<SessionTree> {
      return treeOf({
        session,
        store: this.#parts.store,
        sessions: this.#runtime.sessions,
        viewOf: this.#viewOf,
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
        const { param, retryAfterMs } =
          error instanceof IsolaError ? error : { param: undefined, retryAfterMs: undefined }
        return {
          ok: false,
          error: {
            code,
            message: errorMessage(error),
            ...(param !== undefined && { param }),
            ...(retryAfterMs !== undefined && { retryAfterMs }),
          },
        }
      }
    }
  }
}

const notYetDeletable = () => {
  const message = 'The record of this session could not be saved yet, so it is kept. Try again.'
  return new IsolaError('request_unavailable', message)
}
