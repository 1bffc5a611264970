import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import type { AuditOwner, SessionCard } from '#runtime/session/types/audit-sink.ts'
import type { RunOutcome } from '#runtime/session/types/session-view.ts'
import type { SubmitRequest } from '#runtime/session/types/submission.ts'
import type { SessionApi } from '#runtime/session/types/session-api.ts'
import type { SessionEvent } from '#contracts/event.ts'
import type { Limits } from '#contracts/lease.ts'
import type { Incident, PrincipalLedger } from '#runtime/session/types/principal.ts'
import { defaultTiming, type SessionRuntime } from '#runtime/session/types/runtime.ts'
import type { Planner } from '#runtime/kernel/types/plan.ts'
import type { Telemetry } from '#runtime/session/types/telemetry.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { withCompaction, modelPlanner } from '../../src/features/agents/model-planner.ts'
import { createContextReader } from '../../src/runtime/context/context-reader.ts'
import { createKernel } from '../../src/runtime/kernel/run.ts'
import { createContexts } from '../../src/runtime/session/contexts.ts'
import { pagesAfter } from '../../src/runtime/session/log/log-view.ts'
import { admit } from '../../src/runtime/session/runs/admission.ts'
import {
  createSessionAccess,
  openParts,
  type SessionParts,
} from '../../src/runtime/session/session-parts.ts'
import { createSubmissions } from '../../src/runtime/session/submissions.ts'
import { answerRun } from '../../src/runtime/session/waiting/outside.ts'
import { createMeter } from '../../src/runtime/session/storage/meter.ts'
import type { SessionRow } from '../../src/runtime/session/storage/stored-rows.ts'
import type { Jobs } from '../../src/runtime/session/upkeep/timers.ts'
import { contextBuilder, createContextParts, tokenCounter } from '../fakes/context.ts'
import {
  agentSpec,
  createFakeClock,
  createFakeModel,
  createFakeSources,
  createKernelParts,
  toolsetOf,
  type Script,
} from '../fakes/kernel.ts'
import { createFakeGateway } from '../fakes/session-gateway.ts'

export const session = 'ses_1'
export const pauseMs = 86_400_000

/** SQLite in memory behind the part of a Durable Object's storage that sessions use; `fail` breaks its next statements. */
function createStorage() {
  const sqlite = new DatabaseSync(':memory:')
  let isFailing: (query: string) => boolean = () => false
  let depth = 0
  const alarm: { time: number | undefined; isFailing?: boolean } = { time: undefined }
  /** Their table is the SDK's: it is asked for and nothing else. */
  const jobs = { areMade: false }
  const exec = (query: string, ...values: unknown[]) => {
    if (isFailing(query)) throw new Error('SQLITE_FULL: database or disk is full')
    const isOfJobs = query.includes(`name = 'cf_agents_jobs'`)
    const rows = isOfJobs
      ? [{ 1: 1 }].slice(jobs.areMade ? 0 : 1)
      : sqlite.prepare(query).all(...(values as SQLInputValue[]))
    return {
      toArray: () => rows,
      rowsRead: 0,
      rowsWritten: 0,
      [Symbol.iterator]: () => rows[Symbol.iterator](),
    }
  }
  const storage = {
    sql: { exec },
    sync: async () => {},
    async setAlarm(time: number) {
      if (alarm.isFailing) throw new Error('The alarm could not be stored.')
      alarm.time = time
    },
    deleteAlarm: async () => void (alarm.time = undefined),
    transactionSync<T>(work: () => T): T {
      const name = `step_${(depth += 1)}`
      sqlite.exec(`SAVEPOINT ${name}`)
      try {
        return work()
      } catch (error) {
        sqlite.exec(`ROLLBACK TO ${name}`)
        throw error
      } finally {
        sqlite.exec(`RELEASE ${name}`)
        depth -= 1
      }
    },
  }
  return {
    storage: storage as unknown as DurableObjectStorage,
    sqlite,
    alarm,
    jobs,
    failWhere: (test: (query: string) => boolean) => void (isFailing = test),
  }
}

export interface WorldOptions {
  readonly script: Script
  readonly entries?: readonly ToolEntry[]
  /** Instead of an agent with these entries. */
  readonly load?: SessionRuntime['agents']['load']
  /** Around the one who plans. */
  readonly around?: (planner: Planner) => Planner
  /** The answers of other sessions. */
  readonly others?: Partial<SessionApi>
  readonly limits?: Partial<Limits>
  /** The model takes no more, and contexts are compacted. */
  readonly contextTokens?: number
  /** Awaited before an agent is there. */
  readonly loading?: () => Promise<void>
  readonly reserve?: PrincipalLedger['reserve']
  readonly telemetry?: Telemetry
  readonly mayBegin?: SessionRuntime['mayBegin']
  readonly whyNotOn?: NonNullable<SessionRuntime['whyNotOn']>
  readonly onExpired?: () => Promise<void>
  /** Its timers have no rows yet; otherwise they have, as in an object that has had others besides. */
  readonly hasNoJobs?: boolean
}

/** One session over several lives of its object: storage and timers stay, everything else is made anew. */
export function createSessionWorld(options: WorldOptions) {
  const { around } = options
  const clock = createFakeClock()
  const sources = createFakeSources(clock)
  const disk = createStorage()
  disk.jobs.areMade = !options.hasNoJobs
  const timers = new Map<string, { readonly fn: string; readonly time: number }>()
  if (!options.hasNoJobs) timers.set('pauses', { fn: 'pauses', time: Number.MAX_SAFE_INTEGER })
  let failing: 'push' | 'cancel' | undefined
  const reachTimers = (what: 'push' | 'cancel') => {
    if (what === failing) throw new Error('The alarm could not be stored.')
  }
  /** As `agents/lifecycle` does: by the rows alone. */
  const setAlarm = () => {
    const times = [...timers.values()].map(({ time }) => time)
    disk.alarm.time = times.length > 0 ? Math.min(...times) : undefined
  }
  const jobs: Jobs = {
    get: (id) => timers.get(id),
    list: () => [...timers].map(([id, { time }]) => ({ id, time })),
    async push({ id, fn, time }) {
      disk.jobs.areMade = true
      reachTimers('push')
      timers.set(id, { fn, time })
      setAlarm()
    },
    async cancel(id) {
      reachTimers('cancel')
      timers.delete(id)
      setAlarm()
    },
  }
  const { script, contextTokens } = options
  const fitting =
    contextTokens === undefined ? undefined : createContextParts(script, contextTokens)
  const model = fitting?.models ?? createFakeModel(script)
  const told: Incident[] = []
  const reserved: string[] = []
  const settled: { run: string; tokens: number }[] = []
  const audit: SessionEvent[] = []
  let listed: SessionCard | undefined
  let isAuditAway = false
  const reached = async () => {
    if (isAuditAway) throw new Error('D1_ERROR: Network connection lost.')
  }
  const runtime: SessionRuntime = {
    ...sources,
    kernel: createKernel(
      createKernelParts(model, {
        ...sources,
        ...fitting?.more,
        planner: withCompaction(around ? around(modelPlanner) : modelPlanner),
      }),
    ),
    context:
      fitting?.reader ??
      createContextReader({ builder: contextBuilder, count: tokenCounter, models: model }),
    sessions: createFakeGateway(options.others),
    agents: {
      list: () => [],
      toolNames: async () => [],
      tools: async () => [],
      offers: async () => ({ resources: [], prompts: [] }),
      promptUnder: async () => ({ tokens: 0, most: 0, pinned: [], left: [] }),
      async load(...asked) {
        await options.loading?.()
        if (options.load) return options.load(...asked)
        const toolset = toolsetOf(options.entries ?? [])
        return { spec: agentSpec(options.limits), toolset }
      },
    },
    audit: {
      async append(_owner: AuditOwner, { events, card }) {
        await reached()
        audit.push(...events)
        listed = card
      },
      async watermark() {
        await reached()
        return listed ? (audit.at(-1)?.seq ?? 0) : -1
      },
      async unlist() {
        await reached()
        listed = undefined
      },
    },
    principals: {
      async reserve(request) {
        reserved.push(request.run)
        return options.reserve ? options.reserve(request) : request.asked
      },
      async settle({ run, spent }) {
        settled.push({ run, tokens: spent.tokens })
      },
      report: (incident) => void told.push(incident),
    },
    mayBegin: options.mayBegin ?? (async () => true),
    ...(options.whyNotOn && { whyNotOn: options.whyNotOn }),
    timing: { ...defaultTiming, pauseMs },
    ...(options.telemetry && { telemetry: options.telemetry }),
  }

  /** Another life of the object, over what is stored. */
  function wake(about: Partial<SessionRow> = {}) {
    const create = (parts: SessionParts, row: Partial<SessionRow>) => {
      if (parts.store.session()) return
      const base = { id: session, agent: 'tester', principal: 'operator', createdAtMs: 0 }
      parts.store.writeSession({ ...base, ...row })
      parts.outbox.begin()
    }
    const parts: SessionParts = openParts({
      runtime,
      storage: disk.storage,
      meter: createMeter(disk.storage),
      jobs,
      identity: { id: session },
      onExpired: options.onExpired ?? (async () => {}),
    })
    if (Object.keys(about).length > 0) create(parts, about)
    parts.upkeep.begin()
    const take = (request: Partial<SubmitRequest> = {}) =>
      admit(
        {
          agent: 'tester',
          principal: 'operator',
          messages: [{ role: 'user', text: 'go', taint: ['user'] }],
          trace: 't'.repeat(32),
          pauses: 'park',
          ...request,
        },
        {
          ...parts,
          runtime,
          session,
          audience: 'reader',
          answerRun: async (asked) => answerRun(asked, { ...parts, runtime }),
        },
      )
    const access = createSessionAccess({
      runtime,
      identity: { id: session },
      current: { parts },
      isDeleting: () => false,
      sync: async () => {},
    })
    return {
      ...parts,
      take,
      contexts: createContexts(access, createSubmissions(access)),
      /** Takes a run in and waits for what comes of it. */
      async run(request: Partial<SubmitRequest> = {}): Promise<RunOutcome> {
        const { live, receipt } = await take(request)
        return live ? live.done : parts.store.final(parts.store.findRun(receipt.run)!.order)!
      },
      row: (run: string) => parts.store.findRun(run)!,
      events: () => [...pagesAfter(parts.store, 0, 1_000)].flat().map(({ seq }) => seq),
    }
  }

  return {
    ...disk,
    clock,
    model,
    timers,
    told,
    reserved,
    settled,
    audit,
    listed: () => listed,
    runtime,
    wake,
    /** From now on timers cannot be set, or not cancelled. */
    failTimers: (what?: 'push' | 'cancel') => void (failing = what),
    setAuditAway: (isAway: boolean) => void (isAuditAway = isAway),
  }
}

/** Lets everything happen that waits for nothing but its turn. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** A session after its first run, a second later: everything was carried. */
export async function createRestingWorld(options: Partial<WorldOptions> = {}) {
  const world = createSessionWorld({ script: () => ({ text: 'hi' }), ...options })
  const life = world.wake({ id: session })
  const rest = async () => {
    await settle()
    await world.clock.advance(1_000)
    await settle()
  }
  await life.run()
  await rest()
  return { ...world, life, rest, startMs: world.clock.nowMs() }
}

/** What each run from here on begins with, in their order. */
export function openingsOf({ kernel }: Pick<SessionRuntime, 'kernel'>): unknown[] {
  const openings: unknown[] = []
  const { run: runKernel } = kernel
  const run: typeof runKernel = (input, ports) => {
    openings.push(input.opening)
    return runKernel(input, ports)
  }
  Object.assign(kernel, { run })
  return openings
}

export const never = new Promise<never>(() => {})
