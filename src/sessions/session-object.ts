import { DurableObject } from 'cloudflare:workers'
import { Lifecycle, type LifecycleJobContext } from 'agents/lifecycle'
import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { Message } from '#contracts/message.ts'
import type { Decision } from '#contracts/pause.ts'
import type { SessionRuntime } from '#contracts/runtime.ts'
import type { Reply } from '#contracts/reply.ts'
import type {
  Delivery,
  RunMemo,
  RunOutcome,
  RunSpending,
  RunView,
  ItemsPage,
  ItemsQuery,
  SessionApi,
  SessionTree,
  StorageAnswer,
  SteerReceipt,
  StorageRequest,
  Submission,
  SubmitRequest,
  SubmitReceipt,
} from '#contracts/session.ts'
import { admit, type Admitted } from './runs/admission.ts'
import { deleteSession } from './upkeep/deletion.ts'
import { itemsPage } from './responses/items.ts'
import { eventsAfter, eventsOfRun } from './log/log-view.ts'
import { beginByOutcome } from './waiting/outcome-runs.ts'
import { decideCalls, steerRun, takeDelivery } from './waiting/outside.ts'
import { noSuchRun, noSuchSession, otherBody, unknownAgent } from './runs/refusals.ts'
import { cannotOpen, failureReply } from './failure-reply.ts'
import type { Audience } from './runs/runs.ts'
import { openParts, type SessionParts } from './session-parts.ts'
import { goneText } from './platform-fault.ts'
import { amendSession, begun, created, isSameAs } from './storage/session-row.ts'
import type { RunRow, SessionRow } from './storage/store.ts'
import { stopped } from './upkeep/subtree.ts'
import { treeOf } from './log/tree.ts'
import { memoOf, outcomeOf, spendingOf, viewOf, type ViewOptions } from './log/views.ts'

/** Between the answer that a session is deleted and the end of its database. */
const vanishMs = 1_000
const vanishAgainMs = 60_000
const vanishJob = 'vanish'

/** The class behind the `SESSION` binding. The runtime is built once per isolate, so no room imports upward. */
export function createSessionClass(runtimeOf: () => SessionRuntime) {
  return class extends DurableObject<Env> implements SessionApi {
    readonly lifecycle = Lifecycle.install(this)
    readonly #runtime = runtimeOf()
    #parts = this.#open()
    #id = ''
    #isDeleting = false
    #answering = 0
    #isGone = false
    readonly #waiting = new Map<string, number>()

    #open(): SessionParts {
      return openParts({
        runtime: this.#runtime,
        storage: this.ctx.storage,
        jobs: this.lifecycle.jobs,
        sessionId: () => this.#id,
        onAccept: ({ submission }) => this.#begin(submission),
        onExpired: () => this.#forget(this.#parts.store.session()?.principal ?? ''),
      })
    }

    onStart(): void {
      this.#id = this.#parts.store.session()?.id ?? ''
      this.#parts.upkeep.begin()
      this.#parts.runs.resume()
    }

    async onJob({ job }: LifecycleJobContext): Promise<{ rescheduleAt: number } | void> {
      if (job.fn === vanishJob) return this.#parts.store.session() ? undefined : this.#vanishSoon()
      const next = await this.#parts.upkeep.onJob(job.fn)
      return next === undefined ? undefined : { rescheduleAt: next }
    }

    create(about: Parameters<SessionApi['create']>[0]): Promise<Reply<SessionTree>> {
      return this.#answer(async () => {
        const { agent } = about
        const isKnown = this.#isMade(about)
        if (!isKnown && agent !== undefined && !(await this.#runtime.agents.load(agent, {})))
          throw unknownAgent(agent)
        // Others may have asked for the same while the agent was looked for: the first one made it.
        if (isKnown || this.#isMade(about)) return this.#tree(this.#own(about.principal))
        this.#id = about.session
        this.#write(created(about, this.#runtime.clock.nowMs()))
        this.#parts.upkeep.afterCreate()
        return this.#tree(this.#own(about.principal))
      })
    }

    /** Whether it is there already, as it was asked for. Throws if it is another one, or is being deleted. */
    #isMade(about: Parameters<SessionApi['create']>[0]): boolean {
      this.#refuseWhileDeleting()
      if (!this.#parts.store.session()) return false
      if (!isSameAs(this.#own(about.principal), about)) throw otherBody()
      return true
    }

    amend(
      principal: string,
      change: Parameters<SessionApi['amend']>[1],
    ): Promise<Reply<SessionTree>> {
      return this.#answer(async () => {
        this.#refuseWhileDeleting()
        const { store, runs } = this.#parts
        amendSession({ store, isIdle: runs.isIdle }, this.#own(principal), change)
        return this.#tree(this.#own(principal))
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
        const outcome = outcomeOf(this.#row(receipt.run), this.#viewOptions())
        if (outcome) return outcome
        throw new IsolaError('request_unavailable', 'The run is being taken up again. Try again.')
      })
    }

    runStream(session: string, request: SubmitRequest): ReturnType<SessionApi['runStream']> {
      return this.#answer(async () => {
        const { store, hub } = this.#parts
        const { receipt, live } = await this.#admit(session, request, 'reader')
        const { run } = receipt
        // Usually nothing is written yet: the model's request goes first.
        if (eventsOfRun(store, run).length > 0) await this.#synced()
        const reader = this.#runtime.ids.next('req')
        const stream = hub.attach({
          id: reader,
          afterSeq: 0,
          run,
          follow: this.#parts.runs.live(run) !== undefined,
          backlog: eventsOfRun(store, run),
        })
        await live?.accepted.catch((error: unknown) => {
          hub.detach(reader)
          throw error
        })
        return { receipt: this.#receipt(receipt), reader, stream }
      })
    }

    owner(): Promise<Reply<string>> {
      return this.#answer(async () => {
        const session = this.#parts.store.session()
        if (!session) throw noSuchSession()
        return session.principal
      })
    }

    result(principal: string, run: string): Promise<Reply<RunView>> {
      return this.#answer(async () => {
        this.#own(principal)
        return this.#view(run)
      })
    }

    recall(principal: string, run: string): Promise<Reply<RunMemo>> {
      return this.#answer(async () => {
        this.#own(principal)
        return memoOf(this.#row(run), this.#viewOptions())
      })
    }

    hide(principal: string, run: string): Promise<Reply<RunMemo>> {
      return this.#answer(async () => {
        this.#own(principal)
        this.#refuseWhileDeleting()
        const { runs } = this.#parts
        runs.change(this.#row(run), { isHidden: true })
        // Nobody could read what it comes to, and what it holds is wanted elsewhere.
        runs.cancel(this.#row(run), 'The response was deleted.')
        return memoOf(this.#row(run), this.#viewOptions())
      })
    }

    events(
      principal: string,
      options: Parameters<SessionApi['events']>[1],
    ): Promise<Reply<ReadableStream<Uint8Array>>> {
      return this.#answer(async () => {
        this.#own(principal)
        if (options.run !== undefined) this.#row(options.run)
        await this.#synced()
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
      by?: string,
    ): Promise<Reply<RunView>> {
      return this.#answer(async () => {
        this.#own(principal)
        this.#refuseWhileDeleting()
        const { clock, timing, sha256 } = this.#runtime
        const now = { nowMs: clock.nowMs(), pauseMs: timing.pauseMs, sha256 }
        const options = { decisions: [{ call, decision }], ...now, ...(by !== undefined && { by }) }
        decideCalls(this.#row(run), options, this.#parts)
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
      this.#leaveIfGone()
      await this.lifecycle.start()
      const { runs, todo, upkeep } = this.#parts
      const started = runs.cancelCall(parentRun, call, reason)
      if (started.length === 0) {
        todo.bury({ parentRun, call, reason, atMs: this.#runtime.clock.nowMs() })
        upkeep.keepGraves()
      }
      await Promise.all(started.map(stopped))
    }

    deliver(delivery: Delivery): Promise<Reply<null>> {
      return this.#answer(async () => {
        const { store, todo, upkeep } = this.#parts
        const { parentRun: run, isBackground } = delivery
        // Nothing begins here any more while it is deleted: the outcome is only noted.
        const { onOutcome: _refused, ...note } = delivery
        // What it did not use goes back to the session at once, and to the day as soon as that can be told.
        store.together(() => {
          const taken = takeDelivery(this.#isDeleting ? note : delivery, this.#parts)
          if (taken === 'late' || (taken === 'taken' && isBackground))
            todo.add({ kind: 'settle', session: this.#id, run })
        })
        this.#parts.runs.wake(run)
        upkeep.carry()
        // It is acknowledged when its run is there, or refused: until then it comes again.
        const admit = (request: SubmitRequest) => this.#admit(this.#id, request, 'result')
        await beginByOutcome(delivery, {
          ...this.#parts,
          runtime: this.#runtime,
          sessionId: this.#id,
          isDeleting: () => this.#isDeleting,
          admit,
        })
        return null
      })
    }

    async spentBy(run: string): Promise<RunSpending> {
      this.#leaveIfGone()
      await this.lifecycle.start()
      const { store, runs } = this.#parts
      const spending = spendingOf(store.findRun(run), this.#parts)
      return runs.live(run) ? { ...spending, state: 'open' } : spending
    }

    transcript(principal: string): Promise<Reply<readonly Message[]>> {
      return this.#answer(async () => {
        this.#own(principal)
        return this.#parts.transcript.all()
      })
    }

    items(principal: string, query: ItemsQuery): Promise<Reply<ItemsPage>> {
      return this.#answer(async () => {
        this.#own(principal)
        return itemsPage(this.#parts.store, query)
      })
    }

    tree(principal: string): Promise<Reply<SessionTree>> {
      return this.#answer(async () => this.#tree(this.#own(principal)))
    }

    delete(principal: string): Promise<Reply<{ deleted: true }>> {
      return this.#answer(async () => {
        this.#own(principal)
        await this.#forget(principal)
        return { deleted: true }
      })
    }

    async #forget(principal: string): Promise<void> {
      this.#refuseWhileDeleting()
      this.#isDeleting = true
      try {
        await deleteSession(principal, this.#parts, this.#runtime)
        this.#parts = this.#open()
      } finally {
        this.#isDeleting = false
      }
      const { rescheduleAt: time } = this.#vanishSoon()
      // It goes with everything else; what ends before that comes back for it. If it cannot be stored, the rest is small.
      await this.lifecycle.jobs.push({ id: vanishJob, fn: vanishJob, time }).catch(() => {})
    }

    #vanishSoon(): { rescheduleAt: number } {
      this.ctx.waitUntil(this.#vanish())
      return { rescheduleAt: this.#runtime.clock.nowMs() + vanishAgainMs }
    }

    /** An empty database is still tens of kilobytes: once nobody waits for an answer here, the object goes as a whole. */
    async #vanish(): Promise<void> {
      await this.#runtime.clock.sleep(vanishMs)
      if (this.#answering > 0 || this.#parts.store.session()) return
      this.#isGone = true
      await this.ctx.storage.deleteAll()
    }

    /** What this object remembers of its tables holds no more: whoever comes now is sent to the next one. */
    #leaveIfGone(): void {
      if (this.#isGone) this.ctx.abort(goneText)
    }

    async storage(request: StorageRequest): Promise<StorageAnswer> {
      this.#leaveIfGone()
      if (!this.lifecycle.isStarted()) await this.lifecycle.start()
      return this.#parts.space(request)
    }

    /** Rows this object has written since it was loaded; read by the benchmark. */
    async rowsWritten(): Promise<number> {
      return this.#parts.store.rowsWritten()
    }

    /** What is sent with an id must be durable, also what was written while we waited for that. */
    async #synced(): Promise<void> {
      const { store } = this.#parts
      for (let seq = -1; seq !== store.lastSeq();) {
        seq = store.lastSeq()
        await this.ctx.storage.sync()
      }
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
      return admit(request, {
        ...this.#parts,
        runtime: this.#runtime,
        session,
        audience,
        refuseWhileDeleting: () => this.#refuseWhileDeleting(),
      })
    }

    #begin(submission: Submission): void {
      const { store } = this.#parts
      const now = { id: this.#id, nowMs: this.#runtime.clock.nowMs() }
      const row = begun(store.session(), submission, now)
      if (row) this.#write(row)
    }

    #write(row: SessionRow): void {
      const { store, outbox } = this.#parts
      const isNew = !store.session()
      store.writeSession(row)
      if (isNew) outbox.begin()
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
      if (!row) throw noSuchRun()
      return row
    }

    #receipt(receipt: Admitted['receipt']): SubmitReceipt {
      const { state, createdAtMs } = this.#view(receipt.run)
      return { ...receipt, state, createdAtMs }
    }

    #view(run: string): RunView {
      return viewOf(this.#row(run), this.#viewOptions())
    }

    #viewOptions(): ViewOptions {
      return { ...this.#parts, runtime: this.#runtime, session: this.#id }
    }

    #tree(session: SessionRow): Promise<SessionTree> {
      return treeOf({
        session,
        store: this.#parts.store,
        sessions: this.#runtime.sessions,
        viewOf: (row) => viewOf(row, this.#viewOptions()),
      })
    }

    async #start(): Promise<void> {
      try {
        await this.lifecycle.start()
      } catch (cause) {
        this.#parts.upkeep.report('storage_failed', `Cannot be opened: ${errorMessage(cause)}`)
        throw cannotOpen(cause)
      }
    }

    async #answer<T>(work: () => Promise<T>): Promise<Reply<T>> {
      this.#leaveIfGone()
      this.#answering += 1
      try {
        if (!this.lifecycle.isStarted()) await this.#start()
        return { ok: true, value: await work() }
      } catch (error) {
        return failureReply(error, (message) =>
          this.#parts.upkeep.report('storage_failed', message),
        )
      } finally {
        this.#answering -= 1
      }
    }
  }
}
