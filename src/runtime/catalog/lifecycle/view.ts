import { defined } from '#contracts/defined.ts'
import { parseManifest, permitLines, toPermit, widened, type Permit } from '../types/permit.ts'
import { type Manifest } from '#contracts/manifest/manifest.ts'
import type {
  KeptPluginVersion,
  PluginListing,
  PluginRow,
  PluginVersion,
  PluginView,
  PluginStore,
} from '../types/plugin-catalog.ts'
import { textsOf } from '../types/plugin-upload.ts'
import type { NamesKept } from './names.ts'

/** The price of isolates, and the plugins that share one isolate among all principals. */
export interface IsolatePrice {
  /** The price of each isolate id a day; 0: isolates are not billed. */
  readonly isolatePriceNanoUsd: number
  readonly sharesIsolate: (plugin: string) => boolean
}

/** A row as the operator sees it. */
export function toView(row: PluginRow, versions: readonly PluginVersion[]): PluginView {
  const { permit, permitHash, owner: _whose, waiting = [], toldHash, ...shown } = row
  const { tier, hash, manifest } = shown
  const { asks, texts } = readingOf(manifest)
  // A plugin of the deployment has all that it requests. Of other plugins only the grant for this very version counts.
  const has = tier === 'builtin' ? asks : permitHash === hash ? permit : undefined
  return {
    ...shown,
    ...defined({ asks }),
    lines: asks ? permitLines(asks) : [],
    missing: asks ? widened(asks, has) : [],
    versions,
    waiting: versions.filter((one) => waiting.includes(one.hash)),
    texts,
    isTold: tier !== 'community' || toldHash === hash,
    notes: [],
  }
}

/** The installed plugins as the operator sees them: one, or a page of the list. */
export function createPluginViews(store: PluginStore, price?: IsolatePrice) {
  const viewsOf = async (
    rows: readonly PluginRow[],
    names: NamesKept,
  ): Promise<readonly PluginView[]> => {
    const [versions, known] = await Promise.all([
      store.versions(rows.map(({ id }) => id)),
      names.all(),
    ])
    const byId = Map.groupBy(versions, ({ id }) => id)
    return rows.map((row) => ({
      ...toView(row, byId.get(row.id) ?? []),
      // The author of a plugin of the deployment is known.
      notes:
        row.tier === 'builtin'
          ? []
          : [...known.like(row.id), ...(price ? isolateNote(row, price) : [])],
    }))
  }
  return {
    generations: store.generations,
    failed: store.failed,
    async show(id: string, names: NamesKept): Promise<PluginView | undefined> {
      const row = await store.find(id)
      const [view] = row && row.state !== 'removed' ? await viewsOf([row], names) : []
      const [newest] = row?.waiting ?? []
      const waits = newest === undefined ? undefined : await store.version(id, newest)
      return view && row && waits ? { ...view, update: toUpdate(row, waits) } : view
    },
    /** A page of plugins after an id, in order, without long fields. */
    async page(after: string, limit: number, names: NamesKept): Promise<readonly PluginListing[]> {
      return (await viewsOf(await store.page(after, limit), names)).map(toListing)
    },
  }
}

/** The views, of the one object that keeps the names current. */
export type PluginViews = ReturnType<typeof createPluginViews>

function toUpdate(row: PluginRow, { version, hash, tier, manifest }: KeptPluginVersion) {
  const waits = { ...row, version, hash, tier, manifest }
  const { asks, lines, texts, isTold } = toView(waits, [])
  // Compared with the permit of the version in use.
  const missing = asks ? widened(asks, row.permit) : []
  return { version, hash, tier, ...defined({ asks }), lines, missing, texts, isTold }
}

function toListing({
  manifest,
  asks,
  versions,
  waiting,
  texts: _long,
  update: _too,
  ...view
}: PluginView): PluginListing {
  const { name, description } = Object(manifest) as Record<string, unknown>
  return {
    ...view,
    name: typeof name === 'string' ? name : null,
    description: typeof description === 'string' ? description : null,
    versions: versions.length,
    waiting: waiting.length,
    secrets: asks?.grants.secrets.map((secret) => secret.name) ?? [],
  }
}

function readingOf(value: unknown): {
  readonly asks?: Permit
  readonly texts: PluginView['texts']
} {
  let manifest: Manifest
  try {
    manifest = parseManifest(value)
  } catch {
    return { texts: [] }
  }
  return { asks: toPermit(manifest), texts: textsOf(manifest) }
}

/** A note for the operator: how many isolates of a plugin's code are billed in a day. */
function isolateNote(
  { id, tier }: Pick<PluginRow, 'id' | 'tier'>,
  { isolatePriceNanoUsd, sharesIsolate }: IsolatePrice,
): readonly string[] {
  if (tier === 'builtin') return []
  const price = isolatePriceNanoUsd > 0 ? `$${isolatePriceNanoUsd / 1e9} a day` : 'nothing here'
  if (tier === 'community')
    return [`Its code has an isolate of its own for each session tree: each costs ${price}.`]
  return sharesIsolate(id)
    ? [
        `All principals share one isolate of its code, which costs ${price}: what it keeps in globals, all ` +
          'of them meet.',
      ]
    : [
        `Its code has an isolate of its own for each principal: each costs ${price}. ` +
          `ISOLA_SHARED_ISOLATES=${id} makes it one for all of them, and what it keeps in globals then goes ` +
          'from one to the other.',
      ]
}
