import { DurableObject } from 'cloudflare:workers'
import { Lifecycle, type LifecycleJobContext } from 'agents/lifecycle'
import type {
  DayAmount,
  DayLeaseRequest,
  DayUsage,
  FailedLogin,
  FailedLoginVerdict,
  Incident,
  IncidentRecord,
  PrincipalApi,
  PrincipalLedger,
  PrincipalTiming,
  RateRequest,
  RateVerdict,
  EndedCredential,
  HeldWorkRequest,
  DayPiece,
  DaySettlement,
} from '#runtime/session/types/principal.ts'
import type { Meter } from '#runtime/session/storage/meter.ts'
import type {
  KnowledgeAnswer,
  KnowledgeRequest,
  KnowledgeStore,
} from '#features/record/types/knowledge.ts'
import type { KnowledgeApi, MemoryApi } from '#features/memory/types.ts'
import type { LongTermMemory, MemoryAnswer, MemoryRequest } from '#contracts/long-term.ts'
import { toReply, type ObjectReply } from '#contracts/reply.ts'
import {
  scheduleJob,
  type CreateScheduleHost,
  type ScheduleAnswer,
  type ScheduleRequest,
} from '#runtime/session/types/schedule-object.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Space, StorageAnswer, StorageRequest } from '#contracts/space.ts'
import type { Clock } from '#contracts/sources.ts'
import {
  createCredentialWatch,
  type CredentialWatchOptions,
} from '#features/access/credential-watch.ts'
import {
  createErasureJob,
  erasureJob,
  emptied,
  emptyObject,
} from '#features/record/erasure/empty-tables.ts'
import { createDayLedger } from '#features/access/day-ledger.ts'
import { createFailedLoginLog } from '#features/access/failed-logins.ts'
import { createIncidentLog } from '#features/access/incident-log.ts'
import { createHeldRows } from '#features/access/held-rows.ts'
import { createPlannedJob } from '#platform/objects/planned-job.ts'
import { createPrincipalRows } from '#features/access/principal-rows.ts'
import { createRateWindow } from '#features/access/rate-window.ts'
import { createSweepJob } from '#features/access/sweep-job.ts'
import { createDayRequests } from '#features/access/day-requests.ts'

/** The dependencies of a principal's object. */
export interface PrincipalRuntime {
  readonly clock: Clock
  readonly sessions: Pick<SessionGateway, 'at'>
  readonly timing: PrincipalTiming
  readonly stateOf: CredentialWatchOptions['stateOf']
  readonly report: PrincipalLedger['report']
  readonly createSpace: (storage: DurableObjectStorage) => Space
  /** Its long-term memory, under a key that is bound to `owner`. */
  readonly createNotes: (storage: DurableObjectStorage, owner: string) => LongTermMemory
  readonly createDocuments: (storage: DurableObjectStorage, owner: string) => KnowledgeStore
  readonly createMeter: (storage: DurableObjectStorage) => Meter
  readonly createSchedules: CreateScheduleHost<DurableObjectStorage>
  /** Erases persons, in the operator's object. @returns When there is more to do. */
  readonly erase: () => Promise<number | undefined>
}

const sweepJob = 'sweep'
const heldJob = 'held'
const lookAgainMs = 1_000
const maxListed = 200

/**
 * The class behind the `PRINCIPAL` binding: one object a principal, the one writer of its days. A reply leaves
 * only after its rows are durable (the platform's output gate), so a restart forgets nothing it promised.
 */
export function createPrincipalClass(runtimeOf: () => PrincipalRuntime) {
  return class extends DurableObject<Env> implements PrincipalApi, MemoryApi, KnowledgeApi {
    readonly #runtime = runtimeOf()
    // Created first, so that it counts every use of the storage.
    readonly #meter = this.#runtime.createMeter(this.ctx.storage)
    readonly lifecycle = Lifecycle.install(this)
    readonly #storage = storageOf(this.ctx.storage)
    readonly #ledger = createDayLedger(createPrincipalRows(this.#storage), this.#runtime.timing)
    readonly #incidents = createIncidentLog(this.#storage)
    readonly #space = this.#runtime.createSpace(this.ctx.storage)
    readonly #notes = this.#runtime.createNotes(this.ctx.storage, this.ctx.id.toString())
    readonly #documents = this.#runtime.createDocuments(this.ctx.storage, this.ctx.id.toString())
    readonly #rates = createRateWindow(this.#storage)
    readonly #failedLogins = createFailedLoginLog(this.#storage)
    readonly #sweep = createSweepJob({
      ...this.#runtime,
      checks: this.#ledger.checks,
      job: createPlannedJob(this.lifecycle.jobs, sweepJob),
    })
    readonly #heldJob = createPlannedJob(this.lifecycle.jobs, heldJob)
    readonly #held = watchIn(this.#runtime, this.#storage, this.#heldJob.at)
    readonly #erasure = createErasureJob(this.lifecycle.jobs, this.#runtime)
    readonly #schedules = this.#runtime.createSchedules(this.ctx.storage, this.lifecycle)

    onStart(): void {
      this.#meter.count({ wakes: 1 })
      // Asking for the job makes a table: an object that only was looked at keeps none.
      if (this.#held.isNeeded()) this.#heldJob.restore()
      this.#sweep.restore()
      this.#schedules.restore()
    }

    readonly #billed = billedBy(this.#meter, this.#runtime.clock, () => this.lifecycle.start())
    readonly #noted = notedBy(this.#billed)
    readonly #days = createDayRequests(this.#runtime, this.#ledger, {
      sweep: this.#sweep,
      billed: this.#billed,
    })

    async onJob({ job }: LifecycleJobContext): Promise<{ rescheduleAt: number } | void> {
      this.#meter.count({ requests: 1 })
      if (job.fn === heldJob) return this.#heldJob.run(() => this.#held.look())
      if (job.fn === sweepJob) return this.#sweep.run()
      if (job.fn === erasureJob) return this.#erasure.run()
      if (job.fn === scheduleJob) return this.#schedules.run()
    }

    reserve(request: DayLeaseRequest, limits: DayAmount): Promise<ObjectReply<DayAmount>> {
      return this.#days.reserve(request, limits)
    }

    settle(request: DaySettlement, limits?: DayAmount): Promise<ObjectReply<DayPiece | null>> {
      return this.#days.settle(request, limits)
    }

    usage(limits: DayAmount, run?: string): Promise<ObjectReply<DayUsage>> {
      return this.#billed((nowMs) => valued(this.#ledger.usage(limits, nowMs, run)))
    }

    report(incident: Incident): Promise<ObjectReply<null>> {
      return this.#noted((nowMs) => this.#incidents.report(incident, nowMs))
    }

    incidents(limit: number): Promise<ObjectReply<readonly IncidentRecord[]>> {
      return this.#billed(() => valued(this.#incidents.list(Math.min(limit, maxListed))))
    }

    loginFailed(failed: FailedLogin): Promise<ObjectReply<FailedLoginVerdict>> {
      return this.#billed((nowMs) => valued(this.#failedLogins.failed(failed, nowMs)))
    }

    takeRate(request: RateRequest): Promise<ObjectReply<RateVerdict>> {
      return this.#billed((nowMs) => valued(this.#rates.take(request, nowMs)))
    }

    hold(request: HeldWorkRequest): Promise<ObjectReply<EndedCredential | null>> {
      return this.#billed(() => valued(this.#held.hold(request) ?? null))
    }

    release(request: HeldWorkRequest): Promise<ObjectReply<null>> {
      return this.#noted(() => this.#held.release(request))
    }

    /** At once, and again by the job should the object end meanwhile. */
    lookHeld(): Promise<ObjectReply<null>> {
      return this.#noted((nowMs) => {
        if (!this.#held.isNeeded()) return
        this.#heldJob.at(nowMs + lookAgainMs)
        this.ctx.waitUntil(this.#held.look())
      })
    }

    erase(): Promise<ObjectReply<null>> {
      return this.#noted(this.#erasure.at)
    }

    empty(): Promise<ObjectReply<number>> {
      return emptyObject(this.ctx, this.#runtime, () => this.#billed(() => emptied(this.#storage)))
    }

    schedules(request: ScheduleRequest): Promise<ObjectReply<ScheduleAnswer>> {
      return this.#schedules.answer(request)
    }

    async storage(request: StorageRequest): Promise<StorageAnswer> {
      await this.lifecycle.start()
      return this.#space(request)
    }

    async memory(request: MemoryRequest): Promise<ObjectReply<MemoryAnswer>> {
      await this.lifecycle.start()
      return toReply(() => this.#notes(request))
    }

    async knowledge(request: KnowledgeRequest): Promise<ObjectReply<KnowledgeAnswer>> {
      await this.lifecycle.start()
      return toReply(() => this.#documents(request))
    }
  }
}

const watchIn = (
  runtime: PrincipalRuntime,
  storage: Parameters<typeof createHeldRows>[0],
  wakeAt: Parameters<typeof createCredentialWatch>[0]['wakeAt'],
) => {
  const { checkHeldEveryMs: checkEveryMs } = runtime.timing
  return createCredentialWatch({ ...runtime, rows: createHeldRows(storage), checkEveryMs, wakeAt })
}

const valued = <T>(value: T): ObjectReply<T> => ({ ok: true, value })

/** Adds the cost to the reply: the caller books it for its request, and the rest for the deployment. */
const billedBy =
  (meter: Meter, clock: Clock, start: () => Promise<unknown>) =>
  async <T>(work: (nowMs: number) => ObjectReply<T>): Promise<ObjectReply<T>> => {
    await start()
    const nowMs = clock.nowMs()
    const others = meter.take()
    const reply = work(nowMs)
    meter.count({ requests: 1 })
    return { ...reply, billed: { own: meter.take(), others } }
  }

const notedBy =
  (billed: ReturnType<typeof billedBy>) =>
  (work: (nowMs: number) => void): Promise<ObjectReply<null>> =>
    billed((nowMs) => {
      work(nowMs)
      return valued(null)
    })

const storageOf = (storage: DurableObjectStorage) => ({
  sql: storage.sql,
  transactionSync: <T>(work: () => T): T => storage.transactionSync(work),
})
