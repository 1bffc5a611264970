import type { AgentResult, RunError } from '#contracts/agent.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import type { ReadyAgent, SessionRuntime } from '#contracts/runtime.ts'
import type { Lineage } from '#contracts/session.ts'
import { failedTurn } from './failed-turn.ts'
import { fullEvents, runStarted } from './log-view.ts'
import type { RunRow, SessionStore } from './store.ts'
import type { StreamHub } from './stream-hub.ts'
import type { Transcript } from './transcript.ts'

/** How often a wake may find the same turn open before the run is given up. */
const maxWakes = 5
/** Messages that wait behind the running one. */
const maxQueued = 16

export interface LiveRun {
  /** Resolves once the run is accepted: its row is written. Rejects if it could not be. */
  readonly accepted: Promise<void>
  /** Resolves with the terminal result, after it is written. */
  readonly done: Promise<AgentResult>
  readonly lineage: Lineage | undefined
  /** False while it waits behind another run. */
  readonly isStarted: () => boolean
  readonly cancel: (reason: string) => void
}

/** Who waits for a run: a reader of its text, or somebody for its result. */
export type Audience = 'reader' | 'result'

/** A run on its way in: everything of its row that the queue does not decide. */
export type NewRun = Pick<RunRow, 'id' | 'submission' | 'bodyHash'>

export interface RunsOptions {
  readonly runtime: SessionRuntime
  readonly store: SessionStore
  readonly hub: StreamHub
  readonly transcript: Transcript
  readonly sync: () => Promise<void>
  readonly sessionId: () => string
  /** Called in the same transaction as a run's first write, before it. */
  readonly onAccept: (run: RunRow) => void
  readonly onAccepted: () => void
  /** A run ended otherwise than completed: what it started may still be at work. */
  readonly onBroken: (run: RunRow) => void
  readonly onFinished: () => void
}

/** The runs of one session: one works at a time, the rest wait in accept order. */
export interface Runs {
  /** Throws `request_queue_full`. */
  readonly start: (run: NewRun, agent: ReadyAgent, audience: Audience) => LiveRun
  /** Takes up every unfinished run that is not live in this object. */
  readonly resume: () => void
  readonly live: (id: string) => LiveRun | undefined
  /** The live runs that a parent's call started. */
  readonly startedBy: (parentRun: string, call: string) => readonly LiveRun[]
  readonly all: () => readonly LiveRun[]
  readonly isIdle: () => boolean
}

export function createRuns(options: RunsOptions): Runs {
  const { runtime, store, hub, transcript, sessionId } = options
  const { clock } = runtime
  const live = new Map<string, LiveRun>()
  let queue: Promise<unknown> = Promise.resolve()
  let seq = store.lastSeq()
  let order = store.lastOrder()
  const nextSeq = () => (seq += 1)

  return {
    start,
    resume,
    live: (id) => live.get(id),
    all: () => [...live.values()],
    startedBy: (parentRun, call) =>
      [...live.values()].filter(
        ({ lineage }) => lineage?.parentRun === parentRun && lineage.parentCall === call,
      ),
    isIdle: () => live.size === 0,
  }

  function start(run: NewRun, agent: ReadyAgent, audience: Audience): LiveRun {
    if (live.size > maxQueued) {
      const message = 'Too many messages are waiting in this session; try again shortly.'
      throw new IsolaError('request_queue_full', message, { retryAfterMs: 2_000 })
    }
    order += 1
    return launch(
      {
        ...run,
        order,
        createdAtMs: clock.nowMs(),
        wakeTurn: 0,
        wakes: 0,
      },
      agent,
      audience,
    )
  }

  function resume(): void {
    for (const row of store.unfinishedRuns()) {
      if (live.has(row.id)) continue
      const last = store.turns(row.order).at(-1)
      const open = last && !last.isDone ? last.turn : (last?.turn ?? 0) + 1
      if (row.startSeq === undefined) {
        launch(row)
        continue
      }
      const wakes = row.wakeTurn === open ? row.wakes + 1 : 1
      const woken = { ...row, wakeTurn: open, wakes }
      store.writeRun(woken)
      if (wakes <= maxWakes) launch(woken)
      else giveUp(woken)
    }
  }

  /** With `agent` the run is new: its row is written when its first model request is out, or when it has to wait. */
  function launch(initial: RunRow, agent?: ReadyAgent, audience: Audience = 'reader'): LiveRun {
    let row = initial
    let acceptance: 'new' | 'stored' | 'refused' = agent === undefined ? 'stored' : 'new'
    const cancelled = new AbortController()
    if (row.cancelReason !== undefined) cancelled.abort(new Error(row.cancelReason))
    const { promise: accepted, resolve: accept, reject: refuse } = Promise.withResolvers<void>()
    accepted.catch(() => {}) // whoever waits for it sees the refusal

    /** A run whose row cannot be written was never accepted: it stops, and nothing of it is kept. */
    const persist = () => {
      if (acceptance === 'stored') return
      if (acceptance === 'refused') throw notAccepted()
      try {
        store.together(() => {
          options.onAccept(row)
          store.writeRun(row)
        })
      } catch (error) {
        acceptance = 'refused'
        cancelled.abort(error)
        refuse(error)
        throw error
      }
      acceptance = 'stored'
      options.onAccepted()
      hub.publish(runStarted(row))
      accept()
    }
    const work = async (): Promise<AgentResult> => {
      if (row.startSeq === undefined) {
        row = { ...row, startSeq: nextSeq(), startedAtMs: clock.nowMs() }
        if (acceptance === 'stored') {
          store.writeRun(row)
          hub.publish(runStarted(row))
        }
      }
      try {
        const ready = agent ?? (await load(row))
        return await execute({ row, ready, audience, signal: cancelled.signal, persist })
      } catch (error) {
        persist()
        const code = errorCode(error)
        if (code !== undefined) return fail(row, { code, message: errorMessage(error) })
        const message = 'The run failed for an internal reason.'
        return fail(row, { code: 'internal', message }, errorMessage(error))
      }
    }

    const mustWait = live.size > 0
    if (acceptance === 'stored') accept()
    else if (mustWait) persist()
    const done = (mustWait ? queue.then(work) : work())
      .then((result) => {
        if (result.state !== 'completed') options.onBroken(row)
        return result
      })
      .finally(() => {
        live.delete(row.id)
        options.onFinished()
      })
    queue = done.catch(() => {})
    const entry: LiveRun = {
      accepted,
      done,
      lineage: row.submission.lineage,
      isStarted: () => row.startSeq !== undefined,
      cancel(reason) {
        if (cancelled.signal.aborted) return // the first reason stands
        row = { ...row, cancelReason: reason }
        if (acceptance === 'stored') store.writeRun(row)
        cancelled.abort(new Error(reason))
      },
    }
    live.set(row.id, entry)
    return entry
  }

  async function load({ submission }: RunRow): Promise<ReadyAgent> {
    const agent = await runtime.agents.load(submission.agent, overridesOf(submission))
    if (agent) return agent
    throw new IsolaError(
      'request_model_not_found',
      `There is no agent "${submission.agent}" any more.`,
    )
  }

  interface Execution {
    readonly row: RunRow
    readonly ready: ReadyAgent
    readonly audience: Audience
    readonly signal: AbortSignal
    readonly persist: () => void
  }

  function execute({ row, ready, audience, signal, persist }: Execution): Promise<AgentResult> {
    const { submission } = row
    let published = 0
    return runtime.kernel.run(
      {
        run: row.id,
        session: sessionId(),
        rootSession: submission.lineage?.rootSession ?? sessionId(),
        principal: submission.principal,
        trace: submission.trace,
        depth: submission.lineage?.depth ?? 0,
        ancestry: submission.lineage?.ancestry ?? [],
        agent: ready.spec,
        toolset: ready.toolset,
        messages: [...transcript.before(row.order), ...submission.messages],
        startedAtMs: row.startedAtMs ?? row.createdAtMs,
        lostCalls: row.wakes,
      },
      {
        signal,
        nextSeq,
        onSent: persist,
        onDelta: hub.delta,
        isWatched: () => audience === 'reader' || hub.hasReaders(),
        journal: {
          load: () => store.turns(row.order),
          write(turn) {
            persist()
            store.writeTurn(row.order, turn)
          },
          sync: options.sync,
        },
        onWritten(turn) {
          hub.publish(fullEvents(turn).filter((event) => event.seq > published))
          published = turn.events.at(-1)?.seq ?? published
        },
      },
    )
  }

  function giveUp(row: RunRow): void {
    const message = `The run was interrupted ${maxWakes} times in the same turn.`
    fail(row, { code: 'run_given_up', message })
    options.onBroken(row)
  }

  /** Ends a run that no kernel can end. `detail` is for the audit log only. */
  function fail(row: RunRow, error: RunError, detail?: string): AgentResult {
    const { turn, final } = failedTurn({
      row,
      error,
      detail,
      turns: store.turns(row.order),
      session: sessionId(),
      seq: nextSeq(),
      nowMs: clock.nowMs(),
    })
    store.writeTurn(row.order, turn)
    hub.publish(fullEvents(turn))
    return final
  }
}

const notAccepted = () =>
  new IsolaError('request_unavailable', 'The run could not be stored. Try again.')

export function overridesOf({
  model,
  parameters,
  clientInstructions,
  lineage,
}: RunRow['submission']) {
  return {
    ...(model !== undefined && { model }),
    ...(parameters && { parameters }),
    ...(clientInstructions !== undefined && { clientInstructions }),
    ...(lineage && { lease: lineage.lease }),
  }
}
