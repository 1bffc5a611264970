import { parseManifest } from '#contracts/manifest.ts'
import { permitLines, toPermit, widened, type Permit } from '#contracts/permit.ts'
import type {
  PluginRow,
  PluginStore,
  PluginVersion,
  PluginView,
} from '#contracts/plugin-catalog.ts'
import { isolateNote, type IsolatePrice } from './isolate-note.ts'
import { lookAlikes } from './plugin-names.ts'

/** A row as the operator sees it. */
export function toView(row: PluginRow, versions: readonly PluginVersion[]): PluginView {
  const { id, state, tier, version, hash, manifest, grantEpoch, config, problem } = row
  const asks = asksOf(manifest)
  // What ships with the deployment has what it asks for; of the rest counts what is allowed for this very version.
  const has = tier === 'builtin' ? asks : row.permitHash === hash ? row.permit : undefined
  return {
    id,
    state,
    tier,
    version,
    hash,
    manifest,
    grantEpoch,
    config,
    ...(asks && { asks }),
    lines: asks ? permitLines(asks) : [],
    missing: asks ? widened(asks, has) : [],
    ...(problem && { problem }),
    versions,
    waiting: waitingOf(row, versions),
    notes: [],
  }
}

/** Of a plugin of the deployment nothing waits. */
function waitingOf(
  { tier, hash }: PluginRow,
  versions: readonly PluginVersion[],
): readonly PluginVersion[] {
  const at = versions.findIndex((version) => version.hash === hash)
  return tier === 'builtin' || at < 0 ? [] : versions.slice(0, at)
}

/** What is installed, for the operator's list. */
export function createPluginViews(store: PluginStore, price?: IsolatePrice) {
  return {
    generations: store.generations,
    async list(): Promise<readonly PluginView[]> {
      const [rows, versions] = await Promise.all([store.list(), store.versions()])
      const ofRow = ({ id }: PluginRow) => versions.filter((version) => version.id === id)
      const there = rows.filter(({ state }) => state !== 'removed')
      const ids = there.map(({ id }) => id)
      return there.map((row) => ({
        ...toView(row, ofRow(row)),
        // Of a plugin of the deployment everybody knows who made it.
        notes:
          row.tier === 'builtin'
            ? []
            : [...lookAlikes(row.id, ids), ...(price ? isolateNote(row, price) : [])],
      }))
    },
  }
}

function asksOf(manifest: unknown): Permit | undefined {
  try {
    return toPermit(parseManifest(manifest))
  } catch {
    return undefined
  }
}
