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

/** The subject of a change, as far as the change names it. */
export interface AskedFacts {
  /** The id of the plugin or server. */
  readonly id?: string | undefined
  /** The hash of a version of it. */
  readonly hash?: string | undefined
  /** The principal that adds a version, and the moment from which its additions count. */
  readonly usageOf?: { readonly principal: string; readonly sinceMs: number } | undefined
}

/** The rows about a change's subject, all of one moment: every fact that decides the change. */
export interface ChangeFacts {
  readonly row?: PluginRow
  /** A remote server has this id, on or off. */
  readonly isServer: boolean
  /** An agent without a plugin has this id, archived or not. */
  readonly isAgent: boolean
  /** Every content that a version number of this id has named, however long ago. */
  readonly numbers: readonly Pick<PluginVersion, 'version' | 'hash' | 'signer'>[]
  /** The version with the hash, if its bundle is stored. */
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
  /** Reads the facts in one trip. The cost does not grow with the number of installed plugins. */
  readonly facts: (asked: AskedFacts) => Promise<ChangeFacts>
  readonly find: (id: string) => Promise<PluginRow | undefined>
  readonly list: () => Promise<readonly PluginRow[]>
  /** A page of present plugins after an id, in the order of ids. */
  readonly page: (after: string, limit: number) => Promise<readonly PluginRow[]>
  /** The present plugins with a problem. */
  readonly failed: () => Promise<readonly PluginProblem[]>
  /** Enabled plugins whose manifest has this word anywhere. */
  readonly mentioning: (word: string) => Promise<readonly PluginRow[]>
  /** The versions of these plugins with a stored bundle: newest first, at most a hundred of each plugin. */
  readonly versions: (
    ids: readonly string[],
  ) => Promise<readonly (PluginVersion & { readonly id: string })[]>
  /** A version whose bundle is stored. */
  readonly version: (id: string, hash: string) => Promise<KeptPluginVersion | undefined>
  /** Manifests of these versions by plugin, each plugin once; absent if its bundle was collected. */
  readonly manifests: (
    of: readonly { readonly id: string; readonly hash: string }[],
  ) => Promise<ReadonlyMap<string, unknown>>
  /**
   * Hashes of bundles that came before a moment, and that since then nothing named: no row of a plugin or server, no generation.
   * @param limit The most that are looked for.
   */
  readonly unnamed: (beforeMs: number, limit: number) => Promise<readonly string[]>
  /** The number of the newest generation; 0 before the first change. */
  readonly newestNumber: () => Promise<number>
  /** Ids of present plugins, in any state. */
  readonly ids: () => Promise<readonly string[]>
  /** The newest; `undefined` before the first change. */
  readonly generation: (number?: number) => Promise<Generation | undefined>
  /** Fewer than the limit where they would name more than 10,000 plugins together, but one at least. */
  readonly generations: (limit: number) => Promise<readonly GenerationView[]>
  /** For each reason of these kinds, such as `plugin_revoked <id>`, the newest generation that it made. */
  readonly newest: (kinds: readonly string[]) => Promise<ReadonlyMap<string, number>>
  /** The last pin of a plugin with another hash, in a generation after this one. */
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

/** Bundles by hash. `load` throws `plugin_code_unavailable` if the bundle is missing or was tampered with. */
export interface BundleStore {
  readonly save: (hash: string, text: string) => Promise<void>
  /** The same bundle; throws if the hash is not its. */
  readonly checked: (hash: string, text: string) => { readonly hash: string; readonly text: string }
  /** Puts a copy of a saved bundle near its readers. Never throws. */
  readonly copy: (hash: string, text: string) => Promise<void>
  /**
   * Removes these bundles, and marks the bundles of their versions as removed. A bundle that was saved after `beforeMs`
   * stays.
   */
  readonly remove: (hashes: readonly string[], beforeMs: number) => Promise<void>
  readonly load: (hash: string) => Promise<string>
}
