import { IsolaError } from '#contracts/errors.ts'
import {
  exposureOf,
  noGeneration,
  policyOf,
  type HeldPart,
  type PluginSnapshot,
  type PluginSource,
} from './types/generation.ts'
import { lengthPrefixed } from '#contracts/objects.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import type {
  CallReport,
  CallVerdict,
  CatalogApi,
  PluginAdministration,
  PluginListing,
} from './types/plugin-catalog.ts'
import { fromReply, type ObjectReply } from '#contracts/reply.ts'
import type { Clock } from '#contracts/sources.ts'
import {
  createBodyCache,
  createPartLookup,
  createCachedSet,
  maxWaitMs,
  type CachedSetDeps,
  within,
} from './cached-set.ts'
import { isComplete, toCommonSet, type CommonSet, type NearSet } from './near-set.ts'
import { toSnapshot, withNeeds } from './part-needs.ts'

/** How the Catalog is reached, and where bodies are. */
export interface CatalogGatewayOptions extends Pick<CachedSetDeps<unknown>, 'keepAlive'> {
  /** Missing where a deployment has no such binding. */
  readonly namespace: { readonly getByName: (name: string) => unknown } | undefined
  readonly sha256: (text: string) => string
  readonly clock: Clock
  /** Reads a body that a part is wired from, by hash. Throws `plugin_code_unavailable`. */
  readonly loadBody: (hash: string) => Promise<PluginSource>
  /** The copy in KV. Without one, an isolate that has no set yet waits for the Catalog. */
  readonly near?: NearSet | undefined
  /** Counts what questions to the Catalog cost the platform: no run is booked with that, since many share an answer. */
  readonly deployment?: PlatformCount
}

/** Before anything was ever installed. */
export const emptySnapshot: PluginSnapshot = { ...noGeneration, sources: {} }

/**
 * Asks the one Catalog object for the other rooms of an isolate. The parts that every run has are cached as one set;
 * other
 * parts are looked up by name, once in a generation. Bodies are read by their hash from where bundles are stored. A
 * question without an answer throws `request_unavailable`.
 */
export function createCatalogGateway({
  namespace,
  sha256,
  clock,
  loadBody,
  deployment,
  near,
  keepAlive,
}: CatalogGatewayOptions) {
  const name = sha256(lengthPrefixed(['catalog']))
  const catalog = () => namespace!.getByName(name) as CatalogApi
  const sourceOf = createBodyCache(loadBody, clock)

  const answered = <T>(reply: ObjectReply<T>): T => {
    deployment?.count(reply.billed?.own ?? {})
    return fromReply(reply)
  }
  const ask: Ask = async (call, waitMs = maxWaitMs, onLate = () => {}) => {
    if (!namespace) throw unavailable()
    const replied = Promise.resolve().then(() => call(catalog()))
    const reply = await within(clock, waitMs, replied).catch(() => undefined)
    if (reply === 'late') onLate()
    if (!reply || reply === 'late') throw unavailable()
    return answered(reply)
  }
  /** Refused at once for a second after the Catalog was waited for in vain. */
  const askUnlessAway: Ask = async (call, ...more) => {
    cache.refuseIfAway()
    return ask(call, ...more)
  }
  const named = createPartLookup((missing) =>
    // One indexed read: without an answer in time the Catalog is away. A search may have much to read first.
    askUnlessAway(
      (api) => api.parts(missing),
      maxWaitMs,
      () => cache.missed(),
    ),
  )
  const cache = createCachedSet<CommonSet>({
    clock,
    keepAlive,
    unavailable,
    near: namespace &&
      near && {
        isOlder: (one, other) => one.number < other.number,
        async read() {
          const copy = await near.read()
          report.copy(copy?.number)
          return copy
        },
      },
    async read(cached) {
      if (!namespace) throw unavailable()
      const { number, parts = cached?.parts } = answered(await catalog().look(cached?.number))
      if (cached?.number === number && isComplete(cached)) return cached
      if (!parts) throw unavailable()
      const find = (wanted: readonly string[]) => named.find(wanted, number)
      const set = await toCommonSet({ number, parts }, { find, sourceOf })
      report.inForce(number)
      return set
    },
  })
  const report = createCopyReport((found) => {
    const told = Promise.resolve().then(() => catalog().copyAgain(found))
    keepAlive?.(told.catch(() => {}))
  })
  const snapshot = async () => (namespace ? (await cache.now()).snapshot : emptySnapshot)
  const latest = async () => (namespace ? (await cache.latest()).snapshot : emptySnapshot)
  const forget = (): void => {
    cache.forget()
    named.clear()
  }

  return {
    ...createAdministration({ ask, snapshot, latest, forget }),
    /**
     * The parts that every run has, from a cache that is refreshed behind the answer: while this isolate is at work
     * they are
     * at most about a second old, after a pause at most a minute. While the Catalog does not answer they are the last
     * ones
     * that were read, however old. Throws only where none ever were.
     */
    snapshot,
    /** The same, never from the cache: for a name that is not in it, since that may have been enabled a moment ago. */
    latest,
    /** The snapshot with the parts of these ids, and the parts that they are wired with. */
    async around(wanted: readonly string[]): Promise<PluginSnapshot> {
      if (!namespace) return emptySnapshot
      const { number, parts } = await cache.now()
      named.forgetMissing(wanted)
      const find = (more: readonly string[]) => named.find(more, number)
      return toSnapshot(number, await withNeeds({ parts, ids: wanted }, { find, sourceOf }))
    },
    /** Whether a part is in force with this epoch, by an answer of the Catalog that is at most a second old. */
    async stands({ kind, id, epoch }: HeldPart): Promise<boolean> {
      const { number, parts } = await cache.fresh()
      const isIt = (part: HeldPart) => part.kind === kind && part.id === id
      const found = parts.some(isIt) ? parts : await named.find([id], number)
      return found.some((part) => isIt(part) && part.epoch === epoch)
    },
    /** Calls `onGone` if the part goes before `over` fires. Answers when it is to be called again; may throw. */
    async hold(part: HeldPart, onGone: () => void, over: AbortSignal): Promise<void> {
      if (!namespace) return
      const ended = aborted(over)
      const gone = async () => {
        cache.forget()
        onGone()
      }
      await catalog().hold(part, { gone, over: () => ended })
    },
    /** Tools, best first. */
    search: (queries: readonly string[], limit: number) =>
      askUnlessAway((api) => api.search(queries, limit)),
    /** Skills that match, best first. */
    skills: (queries: readonly string[]) => askUnlessAway((api) => api.skills(queries)),
    /** The tools of parts that are loaded by name, if their names match one of these patterns. */
    tools: (wanted: readonly string[]) => askUnlessAway((api) => api.tools(wanted)),
    /** The same, their names alone. */
    toolNames: (wanted: readonly string[]) => askUnlessAway((api) => api.toolNames(wanted)),
    problems: async () => (namespace ? askUnlessAway((api) => api.problems()) : []),
    /** Removes a batch of bundles that no generation needs any more; 0 at the end. */
    collect: async () => (namespace ? ask((api) => api.collect(), maxChangeMs) : 0),
    /** Never rejects. */
    report: async (report: CallReport): Promise<CallVerdict | undefined> =>
      namespace
        ? catalog()
            .report(report)
            .catch(() => undefined)
        : undefined,
  }
}

/**
 * Tells the Catalog of a copy that is missing or of an older generation than the Catalog's, once both are known: the
 * two are asked at the same time.
 */
function createCopyReport(tell: (found: number | undefined) => void) {
  let inForce: number | undefined
  let copy: { readonly number: number | undefined } | undefined
  const compare = (): void => {
    if (!copy || inForce === undefined) return
    if ((copy.number ?? -1) < inForce) tell(copy.number)
    copy = undefined
  }
  return {
    copy(number: number | undefined): void {
      copy = { number }
      compare()
    },
    inForce(number: number): void {
      inForce = number
      compare()
    },
  }
}

interface AdministrationDeps {
  readonly ask: Ask
  readonly snapshot: () => Promise<PluginSnapshot>
  readonly latest: () => Promise<PluginSnapshot>
  /** Drops the sets that were cached before a change. */
  readonly forget: () => void
}

/** The operator's reads and changes. They go to the object itself, except the reads that every MCP request makes. */
const createAdministration = ({
  ask,
  snapshot,
  latest,
  forget,
}: AdministrationDeps): PluginAdministration => ({
  list: () => allPages((after) => ask((api) => api.page(after, pageSize))),
  show: (id) => ask((api) => api.plugin(id)),
  failed: () => ask((api) => api.failed()),
  // Not from the cache: the command reads the policy, changes it and writes it back.
  async policy() {
    const now = await latest()
    return { generation: now.number, policy: policyOf(now) }
  },
  async exposed(from) {
    const now = await (from === 'latest' ? latest() : snapshot())
    return { generation: now.number, exposed: exposureOf(now) }
  },
  generations: (limit) => ask((api) => api.generations(limit)),
  async change(change, by) {
    try {
      return await ask((api) => api.change(change, by), maxChangeMs)
    } finally {
      forget()
    }
  },
})

type Ask = <T>(
  call: (api: CatalogApi) => Promise<ObjectReply<T>>,
  waitMs?: number,
  onLate?: () => void,
) => Promise<T>

/** Reads page after page, until a page is not full. */
async function allPages(
  pageAfter: (id: string) => Promise<readonly PluginListing[]>,
): Promise<readonly PluginListing[]> {
  const found: PluginListing[] = []
  for (;;) {
    const page = await pageAfter(found.at(-1)?.id ?? '')
    found.push(...page)
    if (page.length < pageSize) return found
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** How many plugins the object lists in one answer: each manifest may have a quarter of a megabyte. */
const pageSize = 50
/** A change tries a plugin out first, which may take as long as its code may. */
const maxChangeMs = 45_000
const unavailable = () =>
  new IsolaError('request_unavailable', 'The list of installed parts cannot be read. Try again.', {
    retryAfterMs: 2_000,
  })
