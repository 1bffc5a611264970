import { DurableObject } from 'cloudflare:workers'
import { Lifecycle, type LifecycleJobContext } from 'agents/lifecycle'
import { errorMessage } from '#contracts/errors.ts'
import type { Message } from '#contracts/message.ts'
import type { Decision } from '#contracts/pause.ts'
import type { SessionRuntime } from '#contracts/runtime.ts'
import type { Reply } from '#contracts/reply.ts'
import type { Delivery, RunSpending } from '#contracts/lineage.ts'
import type { RunMemo, RunOutcome, RunView } from '#contracts/run-view.ts'
import type { ItemsPage, ItemsQuery } from '#contracts/said-item.ts'
import type { SessionApi } from '#contracts/session-api.ts'
import type {
  SessionAbout,
  SessionTree,
  TranscriptPage,
  TranscriptQuery,
  TreeQuery,
} from '#contracts/session-view.ts'
import type { StorageAnswer, StorageRequest } from '#contracts/space.ts'
import type { SteerReceipt, SubmitRequest, SubmitReceipt } from '#contracts/submission.ts'
import { cannotOpen, failureReply } from './failure-reply.ts'
import { createReaders } from './log/readers.ts'
import { goneText } from './platform-fault.ts'
import { otherBody, unknownAgent } from './runs/refusals.ts'
import { createSubmissions, type StartedStream } from './runs/submissions.ts'
import { createScope } from './scope.ts'
import { openParts, type SessionParts } from './session-parts.ts'
import { amendSession, created, isSameAs } from './storage/session-row.ts'
import { createEnding } from './upkeep/ending.ts'
import { vanishAgainMs, vanishJob } from './upkeep/upkeep.ts'
import { createArrivals } from './waiting/arrivals.ts'

type CreateRequest = Parameters<SessionApi['create']>[0]

/** The class behind the `SESSION` binding. The runtime is built once per isolate, so no room imports upward. */
export function createSessionClass(runtimeOf: () => SessionRuntime) {
  return class extends DurableObject<Env> implements SessionApi {
    // A job that runs out of memory is tried again, less and less often, and never dropped: it may be what deletes the session.
    readonly lifecycle = Lifecycle.install(this, {
      maxAlarmMemoryLimitStrikes: Number.MAX_SAFE_INTEGER,
    })
    readonly #runtime = runtimeOf()
    #parts = this.#open()
    #id = ''
    #answering = 0
    readonly #ending = createEnding({
      runtime: this.#runtime,
      parts: () => this.#parts,
      reopen: () => void (this.#parts = this.#open()),
      isAsked: () => this.#answering > 0,
      later: (work) => this.ctx.waitUntil(work),
      deleteAll: () => this.ctx.storage.deleteAll(),
    })
    readonly #scope = createScope({
      runtime: this.#runtime,
      parts: () => this.#parts,
      id: () => this.#id,
      isDeleting: this.#ending.isDeleting,
      sync: () => this.ctx.storage.sync(),
    })
    readonly #readers = createReaders(this.#scope)
    readonly #submissions = createSubmissions(this.#scope, (session) => {
      if (this.#id === '') this.#id = session
    })
    readonly #arrivals = createArrivals(this.#scope, this.#submissions.admit)

    #open(): SessionParts {
      return openParts({
        runtime: this.#runtime,
        storage: this.ctx.storage,
        jobs: this.lifecycle.jobs,
        sessionId: () => this.#id,
        onExpired: () => this.#ending.forget(this.#parts.store.session()?.principal ?? ''),
      })
    }

    onStart(): void {
      this.#id = this.#parts.store.session()?.id ?? ''
      // What is left of a deleted session is removed by its timer, and nothing of it goes on.
      if (this.#parts.store.isClosed()) {
        // Where it cannot be stored, whoever asks for the session wakes the object again.
        void this.#parts.upkeep.vanishLater().catch(() => {})
        return
      }
      this.#parts.upkeep.begin()
      this.#parts.runs.resume()
    }

    async onJob({ job }: LifecycleJobContext): Promise<{ rescheduleAt: number } | void> {
      const { store, upkeep } = this.#parts
      const isVanishing = job.fn === vanishJob || store.isClosed()
      const next = isVanishing ? undefined : await upkeep.onJob(job.fn)
      if (next !== undefined) return { rescheduleAt: next }
      if (store.session() || (!isVanishing && job.fn !== 'graves')) return
      // A job that fails is forgotten: what could not be removed is tried again.
      await this.#ending.vanish().catch(() => {})
      // Gone with everything else, unless somebody had to be answered first.
      return { rescheduleAt: this.#runtime.clock.nowMs() + vanishAgainMs }
    }

    create(about: CreateRequest): Promise<Reply<SessionAbout>> {
      return this.#answer(async () => {
        const { agent } = about
        const isKnown = this.#isMade(about)
        if (!isKnown && agent !== undefined && !(await this.#runtime.agents.load(agent, {})))
          throw unknownAgent(agent)
        // Others may have asked for the same while the agent was looked for: the first one made it.
        if (isKnown || this.#isMade(about)) return this.#readers.about(about.principal)
        this.#id = about.session
        const { store, outbox, upkeep } = this.#parts
        store.writeSession(created(about, this.#runtime.clock.nowMs()))
        outbox.begin()
        upkeep.afterCreate()
        return this.#readers.about(about.principal)
      })
    }

    /** Whether it is there already, as it was asked for. Throws if it is another one, or is being deleted. */
    #isMade(about: CreateRequest): boolean {
      this.#scope.refuseWhileDeleting()
      if (!this.#parts.store.session()) return false
      if (!isSameAs(this.#scope.own(about.principal), about)) throw otherBody()
      return true
    }

    amend(
      principal: string,
      change: Parameters<SessionApi['amend']>[1],
    ): Promise<Reply<SessionAbout>> {
      return this.#answer(async () => {
        this.#scope.refuseWhileDeleting()
        const { store, runs } = this.#parts
        amendSession({ store, isIdle: runs.isIdle }, this.#scope.own(principal), change)
        return this.#readers.about(principal)
      })
    }

    submit(session: string, request: SubmitRequest): Promise<Reply<SubmitReceipt>> {
      return this.#answer(() => this.#submissions.submit(session, request))
    }

    run(session: string, request: SubmitRequest): Promise<Reply<RunOutcome>> {
      return this.#answer(() => this.#submissions.run(session, request))
    }

    runStream(session: string, request: SubmitRequest): Promise<Reply<StartedStream>> {
      return this.#answer(() => this.#submissions.runStream(session, request))
    }

    about(principal: string): Promise<Reply<SessionAbout>> {
      return this.#answer(async () => this.#readers.about(principal))
    }

    owner(): Promise<Reply<string>> {
      return this.#answer(async () => this.#readers.owner())
    }

    result(principal: string, run: string): Promise<Reply<RunView>> {
      return this.#answer(async () => this.#readers.result(principal, run))
    }

    recall(principal: string, run: string): Promise<Reply<RunMemo>> {
      return this.#answer(async () => this.#readers.recall(principal, run))
    }

    hide(principal: string, run: string): Promise<Reply<RunMemo>> {
      return this.#answer(async () => this.#submissions.hide(principal, run))
    }

    events(
      principal: string,
      options: Parameters<SessionApi['events']>[1],
    ): Promise<Reply<ReadableStream<Uint8Array>>> {
      return this.#answer(() => this.#readers.events(principal, options))
    }

    cancel(principal: string, run: string, reason: string): Promise<Reply<RunView>> {
      return this.#answer(() => this.#submissions.cancel(principal, run, reason))
    }

    abandon(principal: string, run: string, reader: string): Promise<Reply<RunView>> {
      return this.#answer(() => this.#submissions.abandon(principal, run, reader))
    }

    steer(
      principal: string,
      run: string,
      message: Message,
      idempotencyKey?: string,
    ): Promise<Reply<SteerReceipt>> {
      return this.#answer(async () =>
        this.#arrivals.steer(principal, run, { message, idempotencyKey }),
      )
    }

    decide(
      principal: string,
      run: string,
      call: string,
      decision: Decision,
      by?: string,
    ): Promise<Reply<RunView>> {
      return this.#answer(async () => this.#arrivals.decide(principal, run, { call, decision, by }))
    }

    retry(run: string): Promise<Reply<SubmitReceipt>> {
      return this.#answer(() => this.#submissions.retry(run))
    }

    async cancelCall(parentRun: string, call: string, reason: string): Promise<void> {
      this.#leaveIfGone()
      await this.lifecycle.start()
      await this.#arrivals.cancelCall(parentRun, call, reason)
    }

    deliver(delivery: Delivery): Promise<Reply<null>> {
      return this.#answer(() => this.#arrivals.deliver(delivery))
    }

    async spentBy(run: string): Promise<RunSpending> {
      this.#leaveIfGone()
      await this.lifecycle.start()
      return this.#arrivals.spentBy(run)
    }

    transcript(principal: string, query: TranscriptQuery = {}): Promise<Reply<TranscriptPage>> {
      return this.#answer(async () => this.#readers.transcript(principal, query))
    }

    items(principal: string, query: ItemsQuery): Promise<Reply<ItemsPage>> {
      return this.#answer(async () => this.#readers.items(principal, query))
    }

    tree(principal: string, query: TreeQuery = {}): Promise<Reply<SessionTree>> {
      return this.#answer(() => this.#readers.tree(principal, query))
    }

    delete(principal: string): Promise<Reply<{ deleted: true }>> {
      return this.#answer(async () => {
        this.#scope.own(principal)
        await this.#ending.forget(principal)
        return { deleted: true }
      })
    }

    /** What this object remembers of its tables holds no more: whoever comes now is sent to the next one. */
    #leaveIfGone(): void {
      if (this.#ending.isGone()) this.ctx.abort(goneText)
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
