import type { SessionRuntime } from '#contracts/runtime.ts'
import type { ExportOutcome, RunRecord } from '#contracts/telemetry.ts'
import { overridesOf } from './overrides.ts'
import type { RunRow, SessionStore } from './store.ts'
import type { Todo } from './todo.ts'
import type { Transcript } from './transcript.ts'

/** So often a collector is asked to take what it did not take; then it is dropped. */
const maxTries = 5

/**
 * Carries the traces of runs that are over to the collector: off the answer's path, and in nobody's way. What is still
 * to be sent is on record with the end of its run, so a crash loses nothing.
 */
export interface TraceOutbox {
  /** Sends what is to be sent, one run after the other, until something is not taken. */
  readonly nudge: () => void
  readonly isDone: () => boolean
  /** How often in a row something was not taken. */
  readonly failures: () => number
}

export interface TraceOutboxOptions {
  readonly runtime: Pick<SessionRuntime, 'telemetry' | 'agents'>
  readonly store: Pick<SessionStore, 'findRun' | 'turns'>
  readonly todo: Pick<Todo, 'traces' | 'addTrace' | 'removeTrace'>
  readonly transcript: Pick<Transcript, 'before'>
  readonly sessionId: () => string
  /** Told when traces are dropped, and when one was taken again. */
  readonly onTrouble: (problem: string | undefined, run: string) => void
}

/** Whether a run's trace is to be exported: not if whoever began the trace does not record it. */
export const isTraced = (
  { submission }: RunRow,
  { telemetry }: Pick<SessionRuntime, 'telemetry'>,
): boolean => telemetry !== undefined && submission.traceLink?.isSampled !== false

export function createTraceOutbox(options: TraceOutboxOptions): TraceOutbox {
  const { runtime, store, todo, onTrouble } = options
  const { telemetry } = runtime
  let isSending = false
  let failures = 0

  const settle = (run: string, outcome: ExportOutcome): boolean => {
    failures = outcome.ok ? 0 : failures + 1
    if (outcome.ok || outcome.isFinal) todo.removeTrace(run)
    else {
      // It is the collector that is away: all that wait for it have been tried.
      for (const { run: waiting, tries } of todo.traces())
        if (tries + 1 < maxTries) todo.addTrace(waiting, tries + 1)
        else todo.removeTrace(waiting)
    }
    const isDropped = !outcome.ok && !todo.traces().some((waiting) => waiting.run === run)
    if (outcome.ok) onTrouble(undefined, run)
    else if (isDropped) onTrouble(`The trace of a run was dropped. ${outcome.message}`, run)
    return outcome.ok || outcome.isFinal
  }

  const nudge = (): void => {
    if (!telemetry || isSending) return
    const [next] = todo.traces()
    if (!next) return
    isSending = true
    const row = store.findRun(next.run)
    const sending = row
      ? recordOf(row, options).then((record) => (record ? telemetry.export(record) : gone))
      : Promise.resolve(gone)
    void sending
      .then(
        (outcome) => settle(next.run, outcome),
        (error: unknown) => settle(next.run, { ...gone, message: String(error) }),
      )
      // A store that takes nothing: the recovery job comes back.
      .catch(() => false)
      .then((mayGoOn) => {
        isSending = false
        if (mayGoOn) nudge()
      })
  }

  return {
    nudge,
    failures: () => failures,
    isDone: () => telemetry === undefined || todo.traces().length === 0,
  }
}

const gone = { ok: false, isFinal: true, message: 'Its record cannot be read.' } as const

/** Everything that the spans of a run are made of; `undefined` if its end is not on record. */
function recordOf(
  row: RunRow,
  { runtime, store, transcript, sessionId }: TraceOutboxOptions,
): Promise<RunRecord | undefined> {
  const { id, order, submission, startedAtMs, createdAtMs } = row
  const { agent, trace, traceLink: link, lineage, messages } = submission
  const turns = store.turns(order)
  const final = turns.at(-1)?.final
  if (!final) return Promise.resolve(undefined)
  const record: RunRecord = {
    run: id,
    session: sessionId(),
    agent,
    trace,
    ...(link && { link }),
    ...(lineage && { parent: { run: lineage.parentRun, call: lineage.parentCall } }),
    startedAtMs: startedAtMs ?? createdAtMs,
    turns,
    final,
  }
  if (!runtime.telemetry?.capturesContent) return Promise.resolve(record)
  const said = [...transcript.before(row), ...messages]
  const loaded = runtime.agents.load(agent, overridesOf(submission)).catch(() => undefined)
  return loaded.then((ready) => ({
    ...record,
    content: { messages: said, ...(ready && { instructions: ready.spec.instructions }) },
  }))
}
