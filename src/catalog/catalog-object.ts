import { DurableObject } from 'cloudflare:workers'
import type {
  CallReport,
  CatalogApi,
  ChangeBy,
  ChangeResult,
  Generation,
  GenerationView,
  PluginChange,
  PluginSnapshot,
  PluginSource,
  PluginView,
} from '#contracts/plugin-catalog.ts'
import { plusPlatform } from '#contracts/platform-sum.ts'
import type { PlatformAmounts } from '#contracts/platform.ts'
import { toReply, type Reply } from '#contracts/reply.ts'
import type { Clock } from '#contracts/sources.ts'
import { hashesOf, isComplete } from './catalog-gateway.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'

/** What the object needs of the rest: how changes are decided and stored. */
export interface CatalogRuntime {
  readonly clock: Clock
  readonly current: () => Promise<Generation>
  readonly sourceOf: (hash: string) => Promise<PluginSource>
  readonly change: (
    change: PluginChange,
    by: ChangeBy,
    /** Called when something is about to be written. */
    begin: () => void,
  ) => Promise<ChangeResult>
  readonly trip: (id: string, hash: string, why: string, begin: () => void) => Promise<void>
  readonly list: () => Promise<readonly PluginView[]>
  readonly generations: (limit: number) => Promise<readonly GenerationView[]>
}

const keptKey = 'generation'
const changingKey = 'changing'
/** So long a set is kept in which the bundle of a plugin could not be read. */
const incompleteMs = 1_000

/**
 * The class behind the `CATALOG` binding: one object, through which every change of what is enabled goes, one after the
 * other. D1 has the truth; a copy here answers while D1 is away, unless a change was cut and nobody knows how it ended.
 */
export function createCatalogClass(runtimeOf: () => CatalogRuntime) {
  return class extends DurableObject<Env> implements CatalogApi {
    readonly #runtime = runtimeOf()
    readonly #breaker = createCircuitBreaker(this.#runtime.clock)
    #snapshot: PluginSnapshot | undefined
    #loadedAtMs = 0
    #queue: Promise<unknown> = Promise.resolve()
    #counted: PlatformAmounts = {}

    read(known?: number): ReturnType<CatalogApi['read']> {
      return this.#billed(async () => {
        const held = this.#isWorthKeeping() ? this.#snapshot : undefined
        const snapshot = held ?? (await this.#inTurn(() => this.#load()))
        const { number } = snapshot
        return number === known ? { number } : { number, snapshot }
      })
    }

    /** A bundle that could not be read is looked for again, and not for each who asks. */
    #isWorthKeeping(): boolean {
      if (!this.#snapshot || isComplete(this.#snapshot)) return true
      return this.#runtime.clock.nowMs() - this.#loadedAtMs < incompleteMs
    }

    list(): Promise<Reply<readonly PluginView[]>> {
      return this.#billed(() => this.#runtime.list())
    }

    generations(limit: number): Promise<Reply<readonly GenerationView[]>> {
      return this.#billed(() => this.#runtime.generations(limit))
    }

    change(change: PluginChange, by: ChangeBy): Promise<Reply<ChangeResult>> {
      return this.#billed(() =>
        this.#inTurn(() => this.#changing((begin) => this.#runtime.change(change, by, begin))),
      )
    }

    async report(report: CallReport): Promise<void> {
      const why = this.#breaker.note(report)
      if (why === undefined) return
      await this.#inTurn(() =>
        this.#changing((begin) => this.#runtime.trip(report.id, report.hash, why, begin)),
      ).catch(() => {})
    }

    /** From the moment something is written, nobody is told of the set that was before until it was read again. */
    async #changing<T>(work: (begin: () => void) => Promise<T>): Promise<T> {
      let hasBegun = false
      const begin = () => {
        hasBegun = true
        this.ctx.storage.kv.put(changingKey, true)
        this.#count({ rowsWritten: 1 })
      }
      try {
        return await work(begin)
      } finally {
        if (hasBegun) {
          this.#snapshot = undefined
          await this.#load().catch(() => {})
        }
      }
    }

    async #load(): Promise<PluginSnapshot> {
      const generation = await this.#generation()
      const sources = await Promise.all(
        hashesOf(generation).map(async (hash) => [hash, await this.#source(hash)] as const),
      )
      const found = sources.flatMap(([hash, source]) => (source ? [[hash, source] as const] : []))
      this.#loadedAtMs = this.#runtime.clock.nowMs()
      this.#snapshot = { ...generation, sources: Object.fromEntries(found) }
      return this.#snapshot
    }

    /** A plugin whose bundle is gone is off and listed: the others go on. */
    #source(hash: string): Promise<PluginSource | undefined> {
      return this.#runtime.sourceOf(hash).catch(() => undefined)
    }

    async #generation(): Promise<Generation> {
      const { kv } = this.ctx.storage
      const generation = await this.#runtime.current().catch((error: unknown) => {
        const kept = kv.get<string>(keptKey)
        if (kept === undefined || kv.get(changingKey) === true) throw error
        return JSON.parse(kept) as Generation
      })
      kv.put(keptKey, JSON.stringify(generation))
      kv.delete(changingKey)
      this.#count({ rowsWritten: 2 })
      return generation
    }

    #count(amounts: PlatformAmounts): void {
      this.#counted = plusPlatform(this.#counted, amounts)
    }

    /** With what it did since it answered last: whoever asked carries that to the record. */
    async #billed<T>(work: () => Promise<T>): Promise<Reply<T>> {
      this.#count({ requests: 1 })
      const reply = await toReply(work)
      const own = this.#counted
      this.#counted = {}
      return { ...reply, billed: { own, others: {} } }
    }

    #inTurn<T>(work: () => Promise<T>): Promise<T> {
      const done = this.#queue.then(work)
      this.#queue = done.catch(() => {})
      return done
    }
  }
}
