import { DurableObject } from 'cloudflare:workers'
import { Lifecycle, type LifecycleJobContext } from 'agents/lifecycle'
import type { SessionRuntime } from './types/runtime.ts'
import type { SessionApi } from './types/session-api.ts'
import { createMeter } from './storage/meter.ts'
import { openSession } from './session.ts'
import { ownerOf } from './waiting/approvals.ts'

type Given<Method extends keyof SessionApi> = Parameters<SessionApi[Method]>

/** A job that runs out of memory is tried again, less and less often: it may be the job that deletes the session. */
const neverDropped = { maxAlarmMemoryLimitStrikes: Number.MAX_SAFE_INTEGER }

/**
 * The class behind the `SESSION` binding. The runtime is built once per isolate, so no room imports upward. Its methods
 * only forward: `SessionApi` documents them. The meter wraps the storage before any other part uses it.
 */
export function createSessionClass(runtimeOf: () => SessionRuntime) {
  return class extends DurableObject<Env> implements SessionApi {
    readonly onStart = (): void => this.#session.begin()
    readonly onJob = ({ job }: LifecycleJobContext) => this.#session.onJob(job.fn)
    readonly #own = { context: this.ctx, meter: createMeter(this.ctx.storage) }
    readonly lifecycle = Lifecycle.install(this, neverDropped)
    readonly #session = openSession(runtimeOf(), { ...this.#own, lifecycle: this.lifecycle })
    readonly #answer = this.#session.answer

    /** An alarm may have no row: its jobs get rows before anything else is done, or could break. */
    override alarm(): Promise<void> {
      return this.#session.ring()
    }
    create(...given: Given<'create'>) {
      return this.#answer(() => this.#session.edits.create(...given))
    }
    amend(...given: Given<'amend'>) {
      return this.#answer(() => this.#session.edits.amend(...given))
    }
    delete(...given: Given<'delete'>) {
      return this.#answer(() => this.#session.edits.delete(...given))
    }
    forgetTexts(...given: Given<'forgetTexts'>) {
      return this.#answer(() => this.#session.forgetting.forgetTexts(...given))
    }
    submit(...given: Given<'submit'>) {
      return this.#answer(() => this.#session.submissions.submit(...given))
    }
    run(...given: Given<'run'>) {
      return this.#answer(() => this.#session.submissions.run(...given))
    }
    runStream(...given: Given<'runStream'>) {
      return this.#answer(() => this.#session.submissions.runStream(...given))
    }
    compact(...given: Given<'compact'>) {
      return this.#answer(() => this.#session.contexts.compact(...given))
    }
    retry(...given: Given<'retry'>) {
      return this.#answer(() => this.#session.submissions.retry(...given))
    }
    hide(...given: Given<'hide'>) {
      return this.#answer(() => this.#session.submissions.hide(...given))
    }
    cancel(...given: Given<'cancel'>) {
      return this.#answer(() => this.#session.submissions.cancel(...given))
    }
    abandon(...given: Given<'abandon'>) {
      return this.#answer(() => this.#session.submissions.abandon(...given))
    }
    steer(...given: Given<'steer'>) {
      return this.#answer(() => this.#session.inputs.steer(...given))
    }
    decide(...[principal, run, call, decision, decider]: Given<'decide'>) {
      const decided = { call, decision, decider: decider ?? ownerOf(principal) }
      return this.#answer(() => this.#session.inputs.decide(principal, run, decided))
    }
    changeLimits(...given: Given<'changeLimits'>) {
      return this.#answer(() => this.#session.inputs.changeLimits(...given))
    }
    reclaim(...given: Given<'reclaim'>) {
      return this.#answer(() => this.#session.floors.reclaim(...given))
    }
    deliver(...given: Given<'deliver'>) {
      return this.#answer(() => this.#session.inputs.deliver(...given))
    }
    confirm(...given: Given<'confirm'>) {
      return this.#answer(() => this.#session.inputs.confirm(...given))
    }
    cancelCall(...given: Given<'cancelCall'>) {
      return this.#session.plain(() => this.#session.inputs.cancelCall(...given))
    }
    endHeld(...given: Given<'endHeld'>) {
      return this.#session.plain(() => this.#session.inputs.endHeld(...given))
    }
    worksWith(...given: Given<'worksWith'>) {
      return this.#session.plain(() => this.#session.inputs.worksWith(...given))
    }
    spentBy(...given: Given<'spentBy'>) {
      return this.#session.plain(() => this.#session.inputs.spentBy(...given))
    }
    giveBack(...given: Given<'giveBack'>) {
      return this.#session.plain(() => this.#session.inputs.giveBack(...given))
    }
    owner() {
      return this.#answer(() => this.#session.readers.owner())
    }
    about(...given: Given<'about'>) {
      return this.#answer(() => this.#session.readers.about(...given))
    }
    result(...given: Given<'result'>) {
      return this.#answer(() => this.#session.readers.result(...given))
    }
    recall(...given: Given<'recall'>) {
      return this.#answer(() => this.#session.readers.recall(...given))
    }
    events(...given: Given<'events'>) {
      return this.#answer(() => this.#session.readers.events(...given))
    }
    transcript(...[principal, query = {}]: Given<'transcript'>) {
      return this.#answer(() => this.#session.readers.transcript(principal, query))
    }
    items(...given: Given<'items'>) {
      return this.#answer(() => this.#session.readers.items(...given))
    }
    context(...given: Given<'context'>) {
      return this.#answer(() => this.#session.contexts.view(...given))
    }
    tree(...[principal, query = {}]: Given<'tree'>) {
      return this.#answer(() => this.#session.readers.tree(principal, query))
    }
    storage(...[request]: Given<'storage'>) {
      return this.#session.plain(() => this.#session.current.parts.space(request))
    }
    /** Rows this object has written since it was loaded; read by the benchmark. */
    async rowsWritten(): Promise<number> {
      return this.#session.current.parts.store.rowsWritten()
    }
  }
}
