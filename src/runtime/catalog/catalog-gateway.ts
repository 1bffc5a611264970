import { IsolaError } from '#contracts/errors.ts'
import {
  exposureOf,
  noGeneration,
  policyOf,
  type HeldPart,
  type PluginSnapshot,
  type StoredPart,
  type PluginSource,
} from './types/generation.ts'
import { lengthPrefixed } from '#contracts/naming.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import type {
  CallReport,
  CallVerdict,
  CatalogApi,
  PluginAdministration,
  PluginListing,
} from './types/plugin-catalog.ts'
import { fromReply, type Reply } from '#contracts/reply.ts'
import type { ListedTool } from '#runtime/session/types/runtime.ts'
import type { SkillCandidate } from './types/skill-catalog.ts'
import type { Clock, Ids } from '#contracts/sources.ts'
import type { SearchHit } from '#contracts/search.ts'
import { createBodies } from './bodies.ts'
import { createPartLookup } from './part-lookup.ts'
import { toSnapshot, withNeeds } from './part-needs.ts'
import { createSharedRead, maxReadMs } from './shared-read.ts'

/** What is enabled, as the rest of the Worker asks for it. */
export interface PluginCatalog extends PluginAdministration {
  /** What every run has, at most `freshMs` old. Throws `request_unavailable`. */
  readonly snapshot: () => Promise<PluginSnapshot>
  /** The same as it is now: for who was named something that is not in it, and may have come since. */
  readonly latest: () => Promise<PluginSnapshot>
  /** Whether somebody here waited in vain for the Catalog a moment ago. */
  readonly isSilent: () => boolean
  /** A request that comes from elsewhere waited in vain there: it does not wait here again. */
  readonly heardOfSilence: () => void
  /** The last snapshot that the Catalog gave, however old; nothing if it never gave any. */
  readonly lastKnown: () => PluginSnapshot | undefined
  /** The same with the parts of these ids, and what they are wired with. Throws `request_unavailable`. */
  readonly around: (ids: readonly string[]) => Promise<PluginSnapshot>
  /** Whether a part is in force as somebody knows it. Throws `request_unavailable`. */
  readonly stands: (part: HeldPart) => Promise<boolean>
  /** Calls `onGone` if the part goes before `over` fires. Answers when it is to be asked again; may throw. */
  readonly hold: (part: HeldPart, onGone: () => void, over: AbortSignal) => Promise<void>
  /** Tools, best first. Throws `request_unavailable`. */
  readonly search: (queries: readonly string[], limit: number) => Promise<readonly SearchHit[]>
  /** Skills that fit, best first. Throws `request_unavailable`. */
  readonly skills: (queries: readonly string[]) => Promise<readonly SkillCandidate[]>
  /** The tools of parts that fit one of these patterns. Throws `request_unavailable`. */
  readonly tools: (wanted: readonly string[]) => Promise<readonly ListedTool[]>
  /** The same, their names alone. Throws `request_unavailable`. */
  readonly toolNames: (wanted: readonly string[]) => Promise<readonly string[]>
  readonly problems: () => Promise<readonly PluginProblem[]>
  /** Never rejects. */
  readonly report: (report: CallReport) => Promise<CallVerdict | undefined>
  /** One step of taking away what nobody can need any more; 0 if there is nothing. */
  readonly collect: () => Promise<number>
}

/** How the Catalog is reached, and where bodies are. */
export interface CatalogGatewayOptions {
  /** Missing where a deployment has no such binding. */
  readonly namespace: { readonly getByName: (name: string) => unknown } | undefined
  readonly sha256: (text: string) => string
  readonly clock: Clock
  readonly ids: Pick<Ids, 'next'>
  /** What a part is wired from, by its hash. Throws `plugin_code_unavailable`. */
  readonly loadBody: (hash: string) => Promise<PluginSource>
  /** Takes what asking it makes the platform do: no run is booked with that, since many share an answer. */
  readonly deployment?: PlatformCount
}

/** Before anything was ever installed. */
export const emptySnapshot: PluginSnapshot = { ...noGeneration, sources: {} }

/** What is read again and again: the parts that every run has. */
interface Looked {
  readonly number: number
  readonly parts: readonly StoredPart[]
  readonly snapshot: PluginSnapshot
}

/** Whether every body could be read; one that could not may be there again without a change. */
const isComplete = ({ parts, snapshot }: Looked): boolean =>
  parts.every(({ bodies }) => bodies.every((hash) => Object.hasOwn(snapshot.sources, hash)))

/**
 * Reaches the one Catalog object. What every run has is read once for all who ask at the same time, and kept for a
 * moment; what is asked for by its name is looked up then. Bodies come by their hash from where they are kept.
 */
export function createCatalogGateway({
  namespace,
  sha256,
  clock,
  ids,
  loadBody,
  deployment,
}: CatalogGatewayOptions): PluginCatalog {
  const name = sha256(lengthPrefixed(['catalog']))
  const catalog = () => namespace!.getByName(name) as CatalogApi
  /** What this isolate is to the Catalog. */
  let reader: string | undefined
  const readerId = () => (reader ??= ids.next('ref'))
  const { sourceOf } = createBodies(loadBody, { clock })

  const answered = <T>(reply: Reply<T>): T => {
    deployment?.count(reply.billed?.own ?? {})
    return fromReply(reply)
  }
  const ask: Ask = async (call, maxAskMs, onLate = () => {}) => {
    if (!namespace) throw unavailable()
    const reply = await withinTime(clock, maxAskMs, () => call(catalog()))
    if (reply === 'late') await onLate()
    if (!reply || reply === 'late') throw unavailable()
    return answered(reply)
  }
  /** Not while nobody answers: who has waited once for it does not wait again. */
  const askNow = async <T>(
    call: (api: CatalogApi) => Promise<Reply<T>>,
    // One that may have to find out much first is late for that; one that does not answer is waited for once.
    onLate: () => void | Promise<void> = shared.doubt,
  ): Promise<T> => {
    shared.refuseIfAway()
    return ask(call, maxReadMs, onLate)
  }
  const named = createPartLookup((missing) => askNow((api) => api.parts(missing), shared.missed))
  const shared = createSharedRead<Looked>({
    clock,
    unavailable,
    async read(known) {
      if (!namespace) throw unavailable()
      const { number, parts = known?.parts } = answered(
        await catalog().look(readerId(), known?.number),
      )
      if (known?.number === number && isComplete(known)) return known
      if (!parts) throw unavailable()
      const set = await withNeeds(
        { parts },
        { find: (wanted) => named.find(wanted, number), sourceOf },
      )
      return { number, parts: set.parts, snapshot: toSnapshot(number, set) }
    },
  })
  const snapshot = async (): Promise<PluginSnapshot> =>
    namespace ? (await shared.now()).snapshot : emptySnapshot

  return {
    snapshot,
    latest: async () => (namespace ? (await shared.latest()).snapshot : emptySnapshot),
    isSilent: shared.isSilent,
    heardOfSilence: shared.heardOfSilence,
    lastKnown: () => shared.last()?.snapshot,
    async around(wanted) {
      if (!namespace) return emptySnapshot
      const { number, parts } = await shared.now()
      // One that is not known may have come since: it is looked for, however lately it was not there.
      named.forgetMissing(wanted)
      const find = (more: readonly string[]) => named.find(more, number)
      return toSnapshot(number, await withNeeds({ parts, ids: wanted }, { find, sourceOf }))
    },
    async stands({ kind, id, epoch }) {
      const { number, parts } = await shared.now()
      const isIt = (part: HeldPart) => part.kind === kind && part.id === id
      const found = parts.some(isIt) ? parts : await named.find([id], number)
      return found.some((part) => isIt(part) && part.epoch === epoch)
    },
    async hold(part, onGone, over) {
      if (!namespace) return
      const ended = aborted(over)
      await catalog().hold(part, { gone: async () => onGone(), over: () => ended })
    },
    search: (queries, limit) => askNow((api) => api.search(queries, limit)),
    skills: (queries) => askNow((api) => api.skills(queries)),
    tools: (wanted) => askNow((api) => api.tools(wanted)),
    toolNames: (wanted) => askNow((api) => api.toolNames(wanted)),
    problems: async () => (namespace ? askNow((api) => api.problems()) : []),
    list: () => allPages((after) => ask((api) => api.page(after, pageSize), maxReadMs)),
    show: (id) => ask((api) => api.plugin(id), maxReadMs),
    failed: () => ask((api) => api.failed(), maxReadMs),
    async policy() {
      const now = await snapshot()
      return { generation: now.number, policy: policyOf(now) }
    },
    async exposed() {
      const now = await snapshot()
      return { generation: now.number, exposed: exposureOf(now) }
    },
    generations: (limit) => ask((api) => api.generations(limit), maxReadMs),
    async change(change, by) {
      try {
        return await ask((api) => api.change(change, by, readerId()), maxChangeMs)
      } finally {
        shared.forget()
        named.clear()
      }
    },
    collect: async () => (namespace ? ask((api) => api.collect(), maxChangeMs) : 0),
    report: async (report) =>
      namespace
        ? catalog()
            .report(report)
            .catch(() => undefined)
        : undefined,
  }
}

type Ask = <T>(
  call: (api: CatalogApi) => Promise<Reply<T>>,
  maxAskMs: number,
  onLate?: () => void | Promise<void>,
) => Promise<T>

/** Nothing if it failed. */
async function withinTime<T>(
  clock: Clock,
  ms: number,
  work: () => Promise<T>,
): Promise<T | 'late' | undefined> {
  const late = new AbortController()
  const wait = clock.sleep(ms, late.signal).then(() => 'late' as const)
  return Promise.race([work(), wait])
    .catch(() => undefined)
    .finally(() => late.abort())
}

/** Page after page, until one is not full. */
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

/** So many plugins are listed in one answer of the object: each manifest may have a quarter of a megabyte. */
const pageSize = 50
/** A change tries a plugin out first, which may take as long as its code may. */
const maxChangeMs = 45_000
const unavailable = () =>
  new IsolaError('request_unavailable', 'What is installed cannot be looked up. Try again.', {
    retryAfterMs: 2_000,
  })
