import { defined } from '#contracts/defined.ts'
import type { SessionRuntime } from '../types/runtime.ts'
import type { ExportOutcome, RunRecord } from '../types/telemetry.ts'
import { loadAgent } from '../runs/run.ts'
import { saidAtBeginning, type RunRow } from '../storage/stored-rows.ts'
import { pinnedIn } from '../storage/session-row.ts'
import type { SessionStore } from '../storage/store.ts'
import type { Todo } from '../storage/todo.ts'
import type { Transcript } from '../log/transcript.ts'

/** Exports of one trace that are tried; then it is dropped. */
const maxTries = 5

/**
 * Exports the traces of finished runs to the collector, off the answer's path. A trace that is still to be sent has
 * a row, written with the end of its run, so a crash loses none.
 */
export type TraceOutbox = ReturnType<typeof createTraceOutbox>

interface TraceOutboxOptions {
  readonly runtime: SessionRuntime
  readonly store: SessionStore
  readonly todo: Todo
  readonly transcript: Transcript
  readonly sync: () => Promise<void>
  readonly identity: { readonly id: string }
  /** Called with the reason when traces are dropped, and without one when an export succeeds. */
  readonly onTrouble: (problem: string | undefined, run: string) => void
}

export function createTraceOutbox(options: TraceOutboxOptions) {
  const { runtime, store, todo, sync, onTrouble } = options
  const { telemetry } = runtime
  let isSending = false

  const drop = (runs: readonly string[], why: string) => {
    runs.forEach(todo.removeTrace)
    const [run] = runs
    const what =
      runs.length > 1 ? `The traces of ${runs.length} runs were` : 'The trace of a run was'
    if (run !== undefined) onTrouble(`${what} dropped. ${why}`, run)
  }

  const settle = (run: string, outcome: ExportOutcome): boolean => {
    if (outcome.ok) {
      todo.removeTrace(run)
      onTrouble(undefined, run)
      return true
    }
    if (outcome.isFinal) {
      drop([run], outcome.message)
      return true
    }
    const waiting = todo.traces()
    // The collector is away, so this counts as a try of every waiting trace. The try of this trace is stored already.
    const others = waiting.filter((other) => other.run !== run)
    for (const other of others) todo.addTrace(other.run, other.tries + 1)
    const last = waiting.filter((one) => one.tries + (one.run === run ? 0 : 1) >= maxTries)
    drop(toRuns(last), outcome.message)
    return false
  }

  const send = (run: string): Promise<ExportOutcome> => {
    const row = store.findRun(run)
    const record = row ? recordOf(row, options) : Promise.resolve(undefined)
    return record.then((found) => (found && telemetry ? telemetry.export(found) : gone))
  }

  const sendNext = (isRetry: boolean): boolean | Promise<boolean> => {
    const waiting = todo.traces()
    const spent = waiting.filter(({ tries }) => tries >= maxTries)
    drop(toRuns(spent), 'No export of it came to an end.')
    const left = waiting.filter(({ tries }) => tries < maxTries)
    if (!isRetry && left.some(({ tries }) => tries > 0)) return false
    const [next] = left.toSorted((one, other) => one.tries - other.tries)
    if (!next) return false
    // Stored before the export: an export that ends this object counts as a try, and does not repeat for ever.
    todo.addTrace(next.run, next.tries + 1)
    return sync()
      .then(() => send(next.run))
      .then((outcome) => settle(next.run, outcome))
  }

  const begin = (isRetry: boolean): void => {
    if (!telemetry || isSending) return
    isSending = true
    void Promise.resolve(isRetry)
      .then(sendNext)
      // The store fails: the recovery job comes back, and counts the tries.
      .catch(() => false)
      .then((mayGoOn) => {
        isSending = false
        if (mayGoOn) begin(isRetry)
      })
  }

  return {
    /**
     * A run is over: exports the waiting traces, one after the other, until an export fails. Traces that failed
     * before wait for `retry`, and the others with them. Never throws: an export must not disturb the end of a run.
     */
    nudge: () => begin(false),
    /** The same with the traces that failed before. The caller provides the wait between two tries. */
    retry: () => begin(true),
    /** The most tries of a waiting trace. */
    failures: () => (telemetry ? Math.max(0, ...todo.traces().map(({ tries }) => tries)) : 0),
    isDone: () => telemetry === undefined || todo.traces().length === 0,
  }
}

const toRuns = (traces: ReturnType<Todo['traces']>) => traces.map(({ run }) => run)

const gone = { ok: false, isFinal: true, message: 'Its record cannot be read.' } as const

/** The record from which the spans of a run are made; `undefined` if its end is not stored. */
function recordOf(
  row: RunRow,
  { runtime, store, transcript, identity }: TraceOutboxOptions,
): Promise<RunRecord | undefined> {
  const { id, order, submission, startedAtMs, createdAtMs } = row
  const { agent, trace, traceLink: link, lineage } = submission
  const turns = store.turns(order)
  const final = turns.at(-1)?.final
  if (!final) return Promise.resolve(undefined)
  const record: RunRecord = {
    run: id,
    session: identity.id,
    agent,
    trace,
    ...defined({ link }),
    ...(lineage && { parent: { run: lineage.parentRun, call: lineage.parentCall } }),
    startedAtMs: startedAtMs ?? createdAtMs,
    turns,
    final,
  }
  if (!runtime.telemetry?.capturesContent) return Promise.resolve(record)
  const said = [...transcript.before(row).messages, ...saidAtBeginning(row)]
  const loaded = loadAgent(submission, runtime, { pin: pinnedIn(row, store) }).catch(
    () => undefined,
  )
  return loaded.then((ready) => ({
    ...record,
    content: { messages: said, ...(ready && { instructions: ready.spec.instructions }) },
  }))
}
