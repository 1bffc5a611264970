import { DurableObject } from 'cloudflare:workers'
import type { Generation, HeldPart, PluginSnapshot, PluginSource } from './types/generation.ts'
import type { PartKinds } from './types/part-kind.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import type {
  CallReport,
  CallVerdict,
  CatalogApi,
  ChangeBy,
  ChangeResult,
  PartListener,
  PluginChange,
  PluginListing,
  PluginView,
} from './types/plugin-catalog.ts'
import type { PluginStore } from './types/plugin-store.ts'
import type { Reply } from '#contracts/reply.ts'
import type { BuildSearchIndex } from '#contracts/search.ts'
import type { SearchSkills } from './types/skill-catalog.ts'
import type { Clock } from '#contracts/sources.ts'
import { concerns } from './concerns.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import { createInForce, type CatalogPorts } from './in-force.ts'
import { createKeptParts, type KeptParts } from './kept-parts.ts'
import { ownerIdOf } from './lifecycle/changes.ts'
import type { NamesKept } from './lifecycle/look-alikes.ts'
import { createBill } from './object-bill.ts'
import { createPartHolds } from './part-holds.ts'
import { createToolIndex, type WiredParts } from './tool-index.ts'

/** What the object needs of the rest: how changes are decided and stored. */
export interface CatalogRuntime {
  readonly clock: Clock
  readonly kinds: PartKinds
  readonly newestNumber: () => Promise<number>
  readonly current: () => Promise<Generation>
  readonly sourceOf: (hash: string) => Promise<PluginSource | undefined>
  /** Wires some parts as a session would. */
  readonly wire: (snapshot: PluginSnapshot) => WiredParts
  readonly buildIndex: BuildSearchIndex
  readonly change: (
    change: PluginChange,
    by: ChangeBy,
    ports: CatalogPorts,
  ) => Promise<ChangeResult>
  readonly trip: (id: string, hash: string, why: string, ports: CatalogPorts) => Promise<void>
  /** Ids of all that is installed. */
  readonly installedIds: () => Promise<readonly string[]>
  /** The skills that fit; what is enabled is read anew with another revision. */
  readonly searchSkills: SearchSkills
  readonly show: (id: string, names: NamesKept) => Promise<PluginView | undefined>
  readonly page: (
    after: string,
    limit: number,
    names: NamesKept,
  ) => Promise<readonly PluginListing[]>
  readonly failed: () => Promise<readonly PluginProblem[]>
  /** How many there are, the operator included. */
  readonly principals: () => Promise<number>
  readonly generations: PluginStore['generations']
  /** Takes away some of what nobody can need any more; how much. */
  readonly collect: () => Promise<number>
}

/**
 * The class behind the `CATALOG` binding: one object, through which every change of what is enabled goes, one after the
 * other. D1 has the truth; the parts that are kept here answer while D1 is away. Who reads waits for no change but one
 * that is being written.
 */
export function createCatalogClass(runtimeOf: () => CatalogRuntime) {
  return class extends DurableObject<Env> implements CatalogApi {
    readonly #runtime = runtimeOf()
    readonly #breaker = createCircuitBreaker(this.#runtime.clock)
    readonly #holds = createPartHolds(this.#runtime.clock)
    readonly #kept = createKeptParts(this.ctx.storage, () => this.#runtime.kinds)
    readonly #tools = createToolIndex({ ...this.#runtime, kept: this.#kept })
    readonly #inForce = createInForce({
      ...this.#runtime,
      kept: this.#kept,
      onWritten: (rowsWritten) => this.#bill.count({ rowsWritten }),
      onReread: () => void this.#holds.tell((part) => this.#stands(part)),
    })
    readonly #stands = ({ kind, id, epoch }: HeldPart): boolean =>
      this.#kept.named([id]).some((part) => part.kind === kind && part.epoch === epoch)
    readonly #inTurn = createTurns()
    readonly #bill = createBill(this.#kept)
    readonly #billed = this.#bill.reply

    look(reader: string, known?: number): ReturnType<CatalogApi['look']> {
      return this.#known((number) => {
        this.#holds.note(reader)
        return number === known ? { number } : { number, parts: this.#kept.always() }
      })
    }

    parts(ids: readonly string[]): ReturnType<CatalogApi['parts']> {
      return this.#known((number) => ({ number, parts: this.#kept.named(ids) }))
    }

    search(...asked: Parameters<CatalogApi['search']>): ReturnType<CatalogApi['search']> {
      return this.#known(() => this.#tools.search(...asked))
    }

    skills(queries: readonly string[]): ReturnType<CatalogApi['skills']> {
      return this.#known(() => this.#runtime.searchSkills(queries, this.#kept))
    }

    tools(wanted: readonly string[]): ReturnType<CatalogApi['tools']> {
      return this.#known(() => this.#tools.tools(wanted))
    }

    toolNames(wanted: readonly string[]): ReturnType<CatalogApi['toolNames']> {
      return this.#known(() => this.#tools.toolNames(wanted))
    }

    problems(): ReturnType<CatalogApi['problems']> {
      return this.#known(() => this.#tools.problems())
    }

    async hold(part: HeldPart, listener: PartListener): Promise<void> {
      await this.#inForce.known()
      await (this.#stands(part) ? this.#holds.hold(part, listener) : listener.gone())
    }

    plugin(id: string): ReturnType<CatalogApi['plugin']> {
      return this.#billed(() => this.#runtime.show(id, this.#inForce.names))
    }

    page(after: string, limit: number): ReturnType<CatalogApi['page']> {
      return this.#billed(() => this.#runtime.page(after, limit, this.#inForce.names))
    }

    failed(): ReturnType<CatalogApi['failed']> {
      return this.#billed(() => this.#runtime.failed())
    }

    generations(limit: number): ReturnType<CatalogApi['generations']> {
      return this.#billed(() => this.#runtime.generations(limit))
    }

    change(change: PluginChange, by: ChangeBy, reader = ''): Promise<Reply<ChangeResult>> {
      return this.#billed(() =>
        this.#changing({ reader, change }, (ports) => this.#runtime.change(change, by, ports)),
      )
    }

    /** Between two changes, so that none of them counts on what goes. */
    collect(): Promise<Reply<number>> {
      return this.#billed(() => this.#inTurn(() => this.#runtime.collect()))
    }

    async report(report: CallReport): Promise<CallVerdict | undefined> {
      // Who cannot be counted are many: then nobody switches it off for others.
      const principals = report.fault ? await this.#runtime.principals().catch(() => Infinity) : 0
      const { all: why, own } = this.#breaker.note(report, principals)
      if (why === undefined) return own
      const change = { do: 'disable', id: report.id } as const
      const trip = (ports: CatalogPorts) => this.#runtime.trip(report.id, report.hash, why, ports)
      await this.#changing({ reader: '', change }, trip).catch(() => {})
      return undefined
    }

    /** One change after the other; then those are told, and waited for, whom it concerns. */
    async #changing<T>(
      { reader, change }: { readonly reader: string; readonly change: PluginChange },
      work: (ports: CatalogPorts) => Promise<T>,
    ): Promise<T> {
      const touched = () => touchedBy(change, this.#kept)
      const [outcome, before] = await this.#inTurn(async () => {
        await this.#inForce.known()
        const before = touched()
        return [...(await Promise.allSettled([this.#inForce.written(before, work)])), before]
      })
      // It may have been written although it failed.
      const whom = concerns(before.pins, touched().pins, this.#runtime.kinds)
      await Promise.all([
        this.#holds.tell(this.#stands),
        whom === 'everybody' && this.#holds.forgotten(reader),
      ])
      if (outcome.status === 'rejected') throw outcome.reason
      return outcome.value
    }

    /** Of what is in force, by its number. */
    #known<T>(work: (number: number) => T | Promise<T>): Promise<Reply<T>> {
      return this.#billed(async () => work(await this.#inForce.known()))
    }
  }
}

/** What is in force of what a change may touch: going back, and a key that is gone, may touch everything. */
const touchedBy = (change: PluginChange, kept: KeptParts): Generation =>
  change.do === 'restore' || change.do === 'distrust'
    ? kept.generation()
    : kept.around(ownerIdOf(change) ?? '')

/** One after the other, whatever became of the one before. */
function createTurns() {
  let queue: Promise<unknown> = Promise.resolve()
  return <T>(work: () => Promise<T>): Promise<T> => {
    const done = queue.then(work)
    queue = done.catch(() => {})
    return done
  }
}
