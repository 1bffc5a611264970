import { DurableObject } from 'cloudflare:workers'
import type { Generation, HeldPart, PluginSnapshot, PluginSource } from './types/generation.ts'
import { plusPlatform } from '#contracts/lease.ts'
import type { PlatformAmounts } from '#contracts/platform.ts'
import type {
  CallReport,
  CallVerdict,
  CatalogApi,
  ChangeBy,
  ChangeResult,
  PartListener,
  PluginChange,
} from './types/plugin-catalog.ts'
import { toReply, type ObjectReply } from '#contracts/reply.ts'
import type { BuildSearchIndex } from '#contracts/search.ts'
import type { SearchSkills } from './types/skill-catalog.ts'
import type { Clock } from '#contracts/sources.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import { createInForce } from './in-force.ts'
import { createSetCopier, type NearSet } from './near-set.ts'
import { createStoredParts, type StoredParts } from './stored-parts.ts'
import { ownerIdOf } from './lifecycle/changes.ts'
import type { ChangePorts, PluginLifecycle } from './lifecycle/lifecycle.ts'
import { createToolIndex, type WiredParts } from './tool-index.ts'
import type { PluginViews } from './lifecycle/view.ts'

/** The ports to other rooms, and the lifecycle, which decides changes and stores them. */
export interface CatalogRuntime extends PluginLifecycle, PluginViews {
  readonly clock: Clock
  readonly newestNumber: () => Promise<number>
  readonly sourceOf: (hash: string) => Promise<PluginSource | undefined>
  /** The copy of the set in force that other isolates read. */
  readonly near: NearSet | undefined
  /** Wires some parts as a session would. */
  readonly wire: (snapshot: PluginSnapshot) => WiredParts
  readonly buildIndex: BuildSearchIndex
  /** The skills that match; they are read again after a change of revision. */
  readonly searchSkills: SearchSkills
  /** How many principals there are, the operator included. */
  readonly principals: () => Promise<number>
  /** Removes some versions that no generation needs any more. @returns How many. */
  readonly collect: () => Promise<number>
}

/**
 * The class behind the `CATALOG` binding: one object, through which every change of what is enabled goes, one after the
 * other. D1 has the truth; the parts that are stored here answer while D1 is away. A reader waits for a change only
 * while
 * that is being written.
 */
export function createCatalogClass(runtimeOf: () => CatalogRuntime) {
  return class extends DurableObject<Env> implements CatalogApi {
    readonly #runtime = runtimeOf()
    readonly #breaker = createCircuitBreaker(this.#runtime.clock)
    readonly #kept = createStoredParts(this.ctx.storage, () => this.#runtime.kinds)
    readonly #tools = createToolIndex({ ...this.#runtime, kept: this.#kept })
    readonly #copier = createSetCopier({ ...this.#runtime, kept: this.#kept })
    readonly #inForce = createInForce({
      ...this.#runtime,
      kept: this.#kept,
      onChanged: () => this.ctx.waitUntil(this.#copier.changed()),
      onWritten: (rowsWritten) => this.#bill.count({ rowsWritten }),
    })
    readonly #inTurn = createTurns()
    readonly #bill = createBill(this.#kept)
    readonly #billed = this.#bill.reply

    look(known?: number) {
      return this.#known((number) =>
        number === known ? { number } : { number, parts: this.#kept.always() },
      )
    }

    async copyAgain(found: number | undefined): Promise<void> {
      await this.#inForce.known()
      this.ctx.waitUntil(this.#copier.foundOlder(found))
    }

    parts(ids: readonly string[]) {
      return this.#known((number) => ({ number, parts: this.#kept.named(ids) }))
    }

    search(queries: readonly string[], limit: number) {
      return this.#known(() => this.#tools.search(queries, limit))
    }

    skills(queries: readonly string[]) {
      return this.#known(() => this.#runtime.searchSkills(queries, this.#kept))
    }

    tools(wanted: readonly string[]) {
      return this.#known(() => this.#tools.tools(wanted))
    }

    toolNames(wanted: readonly string[]) {
      return this.#known(() => this.#tools.toolNames(wanted))
    }

    problems() {
      return this.#known(() => this.#tools.problems())
    }

    hold(part: HeldPart, listener: PartListener): Promise<void> {
      return this.#inForce.hold(part, listener)
    }

    plugin(id: string) {
      return this.#billed(() => this.#runtime.show(id, this.#inForce.names))
    }

    page(after: string, limit: number) {
      return this.#billed(() => this.#runtime.page(after, limit, this.#inForce.names))
    }

    failed() {
      return this.#billed(() => this.#runtime.failed())
    }

    generations(limit: number) {
      return this.#billed(() => this.#runtime.generations(limit))
    }

    change(change: PluginChange, by: ChangeBy): Promise<ObjectReply<ChangeResult>> {
      return this.#billed(() =>
        this.#changing(change, (ports) => this.#runtime.change(change, by, ports)),
      )
    }

    /** Runs between two changes, so that no change relies on a bundle that is being removed. */
    collect(): Promise<ObjectReply<number>> {
      return this.#billed(() => this.#inTurn(() => this.#runtime.collect()))
    }

    async report(report: CallReport): Promise<CallVerdict | undefined> {
      // While D1 cannot count them there are many: then one principal's faults switch nothing off for the others.
      const principals = report.fault ? await this.#runtime.principals().catch(() => Infinity) : 0
      const { all: why, own } = this.#breaker.note(report, principals)
      if (why === undefined) return own
      const change = { do: 'disable', id: report.id } as const
      const trip = (ports: ChangePorts) => this.#runtime.trip(report.id, report.hash, why, ports)
      await this.#changing(change, trip).catch(() => {})
      return undefined
    }

    /** Makes one change at a time. Answers once the calls of parts that are no longer in force have ended. */
    async #changing<T>(change: PluginChange, work: (ports: ChangePorts) => Promise<T>): Promise<T> {
      try {
        return await this.#inTurn(async () => {
          await this.#inForce.compared()
          return this.#inForce.written(touchedBy(change, this.#kept), work)
        })
      } finally {
        // Also after a failure: the change may have been written.
        await this.#inForce.tellListeners()
      }
    }

    /** Answers from the set in force, whose number `work` receives. */
    #known<T>(work: (number: number) => T | Promise<T>): Promise<ObjectReply<T>> {
      return this.#billed(async () => work(await this.#inForce.known()))
    }
  }
}

/** The set in force, as far as the change may touch it. Going back, or removing a key, may touch all of it. */
const touchedBy = (change: PluginChange, kept: StoredParts): Generation =>
  change.do === 'restore' || change.do === 'distrust'
    ? kept.generation()
    : kept.around(ownerIdOf(change) ?? '')

/** Runs one piece of work after the other; a failure holds up none that follow. */
function createTurns() {
  let queue: Promise<unknown> = Promise.resolve()
  return <T>(work: () => Promise<T>): Promise<T> => {
    const done = queue.then(work)
    queue = done.catch(() => {})
    return done
  }
}

/** Counts the platform work of the object. Each reply has the amounts since the last one, and its reader books them. */
function createBill(kept: Pick<StoredParts, 'takeRead'>) {
  let counted: PlatformAmounts = {}
  const count = (amounts: PlatformAmounts): void => {
    counted = plusPlatform(counted, amounts)
  }
  return {
    count,
    reply: async <T>(work: () => Promise<T>): Promise<ObjectReply<T>> => {
      count({ requests: 1 })
      const reply = await toReply(work)
      count({ rowsRead: kept.takeRead() })
      const own = counted
      counted = {}
      return { ...reply, billed: { own, others: {} } }
    },
  }
}
