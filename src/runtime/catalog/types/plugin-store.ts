import type { DeploymentEvent } from '#contracts/event.ts'
import type { Generation, PluginPin } from './generation.ts'
import type { McpServerRow } from './mcp.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import type { SkillRow, SkillVersion } from './skill-catalog.ts'
import type {
  GenerationView,
  KeptPluginVersion,
  PluginRow,
  PluginUsage,
  PluginVersion,
} from './plugin-catalog.ts'

/** What a change is about, as far as it says. */
export interface AskedFacts {
  /** Of the plugin or server. */
  readonly id?: string | undefined
  /** Of a version of it. */
  readonly hash?: string | undefined
  /** Who brings a version, and since when what was brought counts. */
  readonly usageOf?: { readonly principal: string; readonly sinceMs: number } | undefined
}

/** What the tables say of what a change is about: all that it is decided from, of one moment. */
export interface ChangeFacts {
  readonly row?: PluginRow
  /** A remote server has this id, on or off. */
  readonly isServer: boolean
  /** An agent without a plugin has this id, archived or not. */
  readonly isAgent: boolean
  /** All that the version numbers of this id ever meant, however long ago. */
  readonly numbers: readonly Pick<PluginVersion, 'version' | 'hash' | 'signer'>[]
  /** The one of the hash, if its bundle is kept. */
  readonly version?: KeptPluginVersion
  readonly usage: PluginUsage
}

/** A plugin as it is after a change: its row, and its versions as `versions` lists them. */
export interface PluginAfter {
  readonly row?: PluginRow
  readonly versions: readonly PluginVersion[]
}

/** The tables behind the Catalog. Every verb may throw `request_unavailable`. */
export interface PluginStore {
  /** In one trip, whose cost does not depend on how much is installed. */
  readonly facts: (asked: AskedFacts) => Promise<ChangeFacts>
  readonly find: (id: string) => Promise<PluginRow | undefined>
  readonly list: () => Promise<readonly PluginRow[]>
  /** So many of what is there behind an id, in the order of ids. */
  readonly page: (after: string, limit: number) => Promise<readonly PluginRow[]>
  /** Of what is there, what has a problem. */
  readonly failed: () => Promise<readonly PluginProblem[]>
  /** Enabled ones whose manifests have this word in them, wherever. */
  readonly mentioning: (word: string) => Promise<readonly PluginRow[]>
  /** Whose bundles are kept, of these plugins; newest first, and of each the newest hundred. */
  readonly versions: (
    ids: readonly string[],
  ) => Promise<readonly (PluginVersion & { readonly id: string })[]>
  /** A version whose bundle is stored. */
  readonly version: (id: string, hash: string) => Promise<KeptPluginVersion | undefined>
  /** Manifests of these versions by plugin, each plugin once; absent what is not kept any more. */
  readonly manifests: (
    of: readonly { readonly id: string; readonly hash: string }[],
  ) => Promise<ReadonlyMap<string, unknown>>
  /**
   * Hashes of bundles that came before a moment, and that since then nothing named: no row of a plugin or server, no generation.
   * @param limit The most that are looked for.
   */
  readonly unnamed: (beforeMs: number, limit: number) => Promise<readonly string[]>
  /** Of the newest generation; 0 before the first change. */
  readonly newestNumber: () => Promise<number>
  /** Ids of what is there, whatever its state. */
  readonly ids: () => Promise<readonly string[]>
  /** The newest; `undefined` before the first change. */
  readonly generation: (number?: number) => Promise<Generation | undefined>
  /** Fewer than the limit where they would name more than 10,000 plugins together, but one at least. */
  readonly generations: (limit: number) => Promise<readonly GenerationView[]>
  /** By reason, such as `plugin_revoked <id>`, the newest generation it made; of these kinds of event. */
  readonly newest: (kinds: readonly string[]) => Promise<ReadonlyMap<string, number>>
  /** The pin of a plugin that was in force last with another hash, in a generation after this one. */
  readonly earlier: (asked: {
    readonly id: string
    readonly hash: string
    readonly after: number
  }) => Promise<PluginPin | undefined>
  /**
   * The row, the bundle, the new generation and the event in one trip: all of them or none.
   *
   * @param write.generation The parts that the change may touch, as they are in force now and before: the difference is
   *   written.
   * @param write.view The plugin to report, as it is after the write.
   */
  readonly commit: (write: {
    readonly rows: readonly PluginRow[]
    readonly version?: KeptPluginVersion
    readonly bundle?: { readonly hash: string; readonly text: string }
    readonly servers?: readonly McpServerRow[]
    readonly skills?: readonly SkillRow[]
    readonly skillVersion?: SkillVersion
    readonly generation?: Generation & {
      readonly before: Generation
      readonly reason: string
    }
    readonly event: DeploymentEvent
    readonly view?: string | undefined
  }) => Promise<PluginAfter>
}

/** Bundles by hash. `load` throws `plugin_code_unavailable` if there is none, or one that was tampered with. */
export interface BundleStore {
  readonly save: (hash: string, text: string) => Promise<void>
  /** The same bundle; throws if the hash is not its. */
  readonly checked: (hash: string, text: string) => { readonly hash: string; readonly text: string }
  /** Puts a copy of one that is saved near those who load it. Never throws. */
  readonly copy: (hash: string, text: string) => Promise<void>
  /**
   * Removes these bundles, and marks the bundles of their versions as removed. A bundle that was saved after `beforeMs`
   * stays.
   */
  readonly remove: (hashes: readonly string[], beforeMs: number) => Promise<void>
  readonly load: (hash: string) => Promise<string>
}
