import { IsolaError } from '#contracts/errors.ts'
import { lengthPrefixed } from '#contracts/naming.ts'
import type {
  CallReport,
  CatalogApi,
  Generation,
  PluginAdministration,
  PluginSnapshot,
} from '#contracts/plugin-catalog.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import { fromReply, type Reply } from '#contracts/reply.ts'
import type { Clock } from '#contracts/sources.ts'
import { defaultToolPolicy } from '#contracts/tool-policy.ts'
import { defaultExposure } from '#contracts/exposure.ts'

/** So old may be what somebody believes to be enabled. */
export const freshMs = 250

/** Nobody waits longer to hear what is enabled. */
const maxReadMs = 5_000

/** What is enabled, as the rest of the Worker asks for it. */
export interface PluginCatalog extends PluginAdministration {
  /** At most `freshMs` old. Throws `request_unavailable`. */
  readonly snapshot: () => Promise<PluginSnapshot>
  /** The last snapshot that the Catalog gave, however old; nothing if it never gave any. */
  readonly lastKnown: () => PluginSnapshot | undefined
  /** Never throws; waits for nobody. */
  readonly report: (report: CallReport) => void
}

/** How the Catalog is reached, and how long its answer is kept. */
export interface CatalogGatewayOptions {
  /** Missing where a deployment has no such binding. */
  readonly namespace: { readonly getByName: (name: string) => unknown } | undefined
  readonly sha256: (text: string) => string
  readonly clock: Clock
  /** Takes what asking it makes the platform do: no run is booked with that, since many share an answer. */
  readonly deployment?: PlatformCount
}

/** Whether every bundle could be read; one that could not may be there again without a change. */
export const isComplete = (snapshot: PluginSnapshot): boolean =>
  hashesOf(snapshot).every((hash) => Object.hasOwn(snapshot.sources, hash))

/** The bundles of a generation: those of plugins, and of what was approved of MCP servers. */
export const hashesOf = ({ installed, mcp = [] }: Generation): readonly string[] =>
  [...installed, ...mcp].map(({ hash }) => hash)

/** Before anything was ever installed. */
export const emptySnapshot: PluginSnapshot = { number: 0, installed: [], bundled: {}, sources: {} }

/**
 * Reaches the one Catalog object. What it answered is kept for a moment, so that a busy Worker does not ask it for
 * each run; whoever changes something is answered only when that moment has passed everywhere.
 */
export function createCatalogGateway({
  namespace,
  sha256,
  clock,
  deployment,
}: CatalogGatewayOptions): PluginCatalog {
  const name = sha256(lengthPrefixed(['catalog']))
  // Written in one go, and only ever replaced by what is newer: sessions of one isolate share it.
  let held: { readonly snapshot: PluginSnapshot; readonly atMs: number } | undefined
  const ask = async <T>(
    call: (api: CatalogApi) => Promise<Reply<T>>,
    maxAskMs = maxReadMs,
  ): Promise<T> => {
    if (!namespace) throw unavailable()
    const late = new AbortController()
    const reply = await Promise.race([
      call(namespace.getByName(name) as CatalogApi),
      clock.sleep(maxAskMs, late.signal).then(() => undefined),
    ])
      .catch(() => undefined)
      .finally(() => late.abort())
    if (!reply) throw unavailable()
    deployment?.count(reply.billed?.own ?? {})
    return fromReply(reply)
  }
  /** Every request and every run comes by here: none hangs because the Catalog does. */
  const snapshot = async (): Promise<PluginSnapshot> => {
    if (!namespace) return emptySnapshot
    const atMs = clock.nowMs()
    if (held && atMs - held.atMs < freshMs && atMs >= held.atMs) return held.snapshot
    const known = held?.snapshot
    const number = known && isComplete(known) ? known.number : undefined
    const { snapshot: read } = await ask((api) => api.read(number))
    const fresh = read ? withWholePolicy(read) : known
    if (!fresh) throw unavailable()
    if (!held || held.atMs <= atMs) held = { snapshot: fresh, atMs }
    return fresh
  }
  return {
    snapshot,
    lastKnown: () => held?.snapshot,
    list: () => ask((api) => api.list()),
    async policy() {
      const { number, policy = defaultToolPolicy } = await snapshot()
      return { generation: number, policy }
    },
    async exposed() {
      const { number, exposed = defaultExposure } = await snapshot()
      return { generation: number, exposed }
    },
    generations: (limit) => ask((api) => api.generations(limit)),
    async change(change, by) {
      const result = await ask((api) => api.change(change, by), maxChangeMs)
      await clock.sleep(settleMs)
      return result
    },
    report(report) {
      if (namespace)
        void (namespace.getByName(name) as CatalogApi).report(report).catch(() => undefined)
    },
  }
}

/** While a new version rolls out, the object may still be of the one before: its policy says nothing of what came since. */
const withWholePolicy = (snapshot: PluginSnapshot): PluginSnapshot =>
  snapshot.policy ? { ...snapshot, policy: { ...defaultToolPolicy, ...snapshot.policy } } : snapshot

/** A change tries a plugin out first, which may take as long as its code may. */
const maxChangeMs = 45_000

/** Until nobody believes the old set any more: what is held is asked anew, and calls under way look again. */
const settleMs = 2 * freshMs + 100

const unavailable = () =>
  new IsolaError('request_unavailable', 'What is installed cannot be looked up. Try again.', {
    retryAfterMs: 2_000,
  })
