import type { ToolDefinition } from '#contracts/model.ts'
import * as z from 'zod'
import type { Exposure, HeldPart, StoredPart, Generation, PluginPin } from './generation.ts'
import type { Administrator } from '#contracts/keys.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { TrustTier } from '#contracts/manifest/manifest.ts'
import type { McpChange, McpServerRow } from './mcp.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import type { Permit, PermitLine } from './permit.ts'
import type { PluginTexts } from './plugin-upload.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import type { SearchHit } from '#contracts/search.ts'
import type { SkillCandidate, SkillChange, SkillRow, SkillVersion } from './skill-catalog.ts'
import type { ToolPolicy } from '#runtime/kernel/types/tool-policy.ts'
import { networkRuleSchema } from '#runtime/kernel/types/network-rule.ts'
import type { DeploymentEvent } from '#contracts/event.ts'

/** The hosts that tools with a grant for every host may call without an approval. */
export type NetworkRule = z.infer<typeof networkRuleSchema>

/** `installed`: there, and never enabled. Installing never enables. */
type PluginState = 'installed' | 'enabled' | 'disabled' | 'removed'

/** A version of a plugin that was brought once; its content never changes. */
export interface PluginVersion {
  readonly hash: string
  readonly version: string
  readonly tier: TrustTier
  /** Where it came from: `upload`, `zip`, or a URL. */
  readonly source: string
  /** The name of the key that signed it. */
  readonly signer?: string
  readonly installedAtMs: number
  readonly installedBy: string
}

/** A plugin as the operator sees it. */
export interface PluginView extends PluginTexts {
  readonly id: string
  readonly state: PluginState
  readonly tier: TrustTier
  readonly version: string
  readonly hash: string
  readonly manifest: unknown
  /** The permit that this version requests; absent if its manifest cannot be read. */
  readonly asks?: Permit
  /** The same in lines. */
  readonly lines: readonly PermitLine[]
  /** The lines that no operator has granted for exactly this version. */
  readonly missing: readonly PermitLine[]
  readonly grantEpoch: number
  readonly config: JsonObject
  /** Why it was switched off, if it was not by an operator. */
  readonly problem?: { readonly code: string; readonly message: string }
  /** Newest first. */
  readonly versions: readonly PluginVersion[]
  /** The newer versions that wait: an operator grants or accepts one by its hash. */
  readonly waiting: readonly PluginVersion[]
  /** The newest waiting version, shown as if it were in use. Only where a single plugin is shown. */
  readonly update?: Pick<
    PluginView,
    'version' | 'hash' | 'tier' | 'asks' | 'lines' | 'missing' | 'texts' | 'isTold'
  >
  /** Notes for a reviewer, such as a name that looks like another's. */
  readonly notes: readonly string[]
}

/** A plugin in a list, without long fields. */
export interface PluginListing extends Omit<
  PluginView,
  'manifest' | 'asks' | 'versions' | 'waiting' | 'texts' | 'update'
> {
  readonly name: string | null
  readonly description: string | null
  /** How many. */
  readonly versions: number
  readonly waiting: number
  /** Names of the secrets that the plugin requests. */
  readonly secrets: readonly string[]
}

/** A version that is to be installed. */
export interface NewPluginVersion extends PluginVersion {
  readonly id: string
  readonly tier: Exclude<TrustTier, 'builtin'>
  readonly manifest: unknown
}

/** A version whose bundle is stored. */
export interface KeptPluginVersion extends NewPluginVersion {
  /** The size of its bundle as UTF-8. */
  readonly sizeBytes: number
}

/**
 * How much one principal may bring. A version counts for the principal that brought it first, until it is collected.
 */
export interface PluginQuota {
  readonly maxVersions: number
  /** The size of all bundles together. */
  readonly maxBytes: number
  readonly maxAddsPerHour: number
}

/** The versions and bytes that one principal has added. */
export interface PluginUsage {
  readonly versions: number
  readonly bytes: number
  /** Since the moment that was asked for. */
  readonly adds: number
  /** When the first of these was; absent if there are none. */
  readonly firstAddAtMs?: number
}

/** The operator's changes. Each one is an event, also if it was refused. */
export type PluginChange =
  | {
      readonly do: 'add'
      readonly plugin: NewPluginVersion
      /** The text that its hash is of. It is stored once the change is decided. */
      readonly bundle: string
      /** Allows an older version than the present one. */
      readonly allowDowngrade?: boolean
      /** Allows a known version number to name another content from now on. */
      readonly replace?: boolean
      /** Takes over the stored values of another owner's plugin with the id. Only for an operator. */
      readonly takeOver?: boolean
      /**
       * The version takes the place of the version in use even if it requests more. The plugin is then off until that
       * is granted.
       */
      readonly now?: boolean
    }
  /** Accepts a waiting version of the plugin; by hash, since the operator reviewed that content. */
  | { readonly do: 'accept'; readonly id: string; readonly hash: string }
  /**
   * Grants the permit of the present version, or of a waiting version, which is then in use. `texts`: its texts for
   * models were read, too.
   */
  | {
      readonly do: 'grant'
      readonly id: string
      readonly hash: string
      readonly permit: Permit
      readonly texts?: boolean
    }
  | { readonly do: 'revoke'; readonly id: string }
  | {
      readonly do: 'enable'
      readonly id: string
      readonly config?: JsonObject
      /** The version that the operator reviewed; another one is refused. */
      readonly hash?: string
    }
  | { readonly do: 'disable'; readonly id: string }
  /** Goes back to the version that was enabled before. */
  | { readonly do: 'rollback'; readonly id: string }
  /** Goes back to an earlier generation. Its policy comes back only with `withPolicy`. */
  | { readonly do: 'restore'; readonly generation: number; readonly withPolicy?: boolean }
  /** A key was removed: everything that it had signed loses its trust tier. */
  | { readonly do: 'distrust' }
  | { readonly do: 'policy'; readonly policy: ToolPolicy }
  | ({ readonly do: 'network' } & NetworkChange)
  | { readonly do: 'mcp'; readonly mcp: McpChange }
  | { readonly do: 'skill'; readonly skill: SkillChange }
  | { readonly do: 'expose'; readonly exposed: Exposure }
  | { readonly do: 'remove'; readonly id: string }
  /** Deletes the stored data of a removed plugin, and frees its id. */
  | { readonly do: 'free'; readonly id: string }

/** Hosts to open and to close for the `http` tools. */
export interface NetworkChange {
  readonly allow: readonly string[]
  readonly deny: readonly string[]
  readonly elsewhere?: NetworkRule['elsewhere']
}

/** The outcome of a change. */
export interface ChangeResult {
  readonly generation: number
  readonly plugin?: PluginView
  /** Notes for the operator. */
  readonly notes: readonly string[]
}

/** The caller of a change: an author installs, and enables nothing. */
export interface ChangeBy extends Administrator {
  readonly mayEnable: boolean
}

/** A generation as an operator sees it in the list, to roll back to. */
export interface GenerationView {
  readonly number: number
  readonly reason: string
  readonly madeBy: string
  readonly madeAtMs: number
  readonly plugins: readonly { readonly id: string; readonly version: string }[]
}

/** How a call of a plugin went, as far as it is the plugin's own doing. */
export interface CallReport {
  readonly id: string
  readonly hash: string
  /** Absent if it went well. */
  readonly fault?: string
  /** The principal of the call. */
  readonly principal: string
}

/**
 * A plugin that failed repeatedly for one principal: it is off for that principal alone, who may have provoked the
 * faults.
 */
export interface CallVerdict {
  readonly why: string
  readonly offUntilMs: number
}

/** A call under way that uses a part, and hears from the Catalog when that ends. */
export interface PartListener {
  /** Called when the part is no longer in force. Answers when the call has ended. */
  readonly gone: () => Promise<void>
  /** Answers when the call is over. */
  readonly over: () => Promise<void>
}

/** The RPC methods of the `Catalog` object: the one writer of the installed and enabled set. */
export interface CatalogApi {
  /**
   * The parts that every run has; left out if the generation is still `known`. Waits for a change only while that is
   * being written.
   */
  readonly look: (
    known?: number,
  ) => Promise<ObjectReply<{ readonly number: number; readonly parts?: readonly StoredPart[] }>>
  /** A reader found this generation in the copy of the set, or none: it is written again, at most once a minute. */
  readonly copyAgain: (found: number | undefined) => Promise<void>
  /** The parts in force whose tools begin with one of these ids, each by one indexed read. */
  readonly parts: (
    ids: readonly string[],
  ) => Promise<ObjectReply<{ readonly number: number; readonly parts: readonly StoredPart[] }>>
  /** Tools, best first. */
  readonly search: (
    queries: readonly string[],
    limit: number,
  ) => Promise<ObjectReply<readonly SearchHit[]>>
  /** Skills that fit, best first: skills that ship, and enabled installed skills. */
  readonly skills: (queries: readonly string[]) => Promise<ObjectReply<readonly SkillCandidate[]>>
  /**
   * The tools of parts that are loaded by name, if they match one of these patterns (`kv__*`), in the order of their
   * names.
   */
  readonly tools: (wanted: readonly string[]) => Promise<ObjectReply<readonly ListedTool[]>>
  /** The same, their names alone. */
  readonly toolNames: (wanted: readonly string[]) => Promise<ObjectReply<readonly string[]>>
  /** Why parts that are loaded by name cannot be used. */
  readonly problems: () => Promise<ObjectReply<readonly PluginProblem[]>>
  /** Answers when the part is gone, when the listener's call is over, or after half a minute. */
  readonly hold: (part: HeldPart, listener: PartListener) => Promise<void>
  /** One; nothing if it is not there. */
  readonly plugin: (id: string) => Promise<ObjectReply<PluginView | undefined>>
  /** The plugins that the runtime switched off by itself, or that could not be started, and why. */
  readonly page: (after: string, limit: number) => Promise<ObjectReply<readonly PluginListing[]>>
  /** The plugins that no operator switched off, or that could not be started, and why. */
  readonly failed: () => Promise<ObjectReply<readonly PluginProblem[]>>
  readonly generations: (limit: number) => Promise<ObjectReply<readonly GenerationView[]>>
  readonly change: (change: PluginChange, by: ChangeBy) => Promise<ObjectReply<ChangeResult>>
  readonly report: (report: CallReport) => Promise<CallVerdict | undefined>
  /** Removes some bundles that are no longer needed, between two changes. Answers how many; 0 is the end. */
  readonly collect: () => Promise<ObjectReply<number>>
}

/** The Catalog, as the operator's surface has it. Every verb may throw `request_unavailable`. */
export interface PluginAdministration {
  readonly list: () => Promise<readonly PluginListing[]>
  readonly show: (id: string) => Promise<PluginView | undefined>
  /** The plugins that no operator switched off, or that could not be started, and why. */
  readonly failed: () => Promise<readonly PluginProblem[]>
  /** Newest first: fewer than the limit where they would name more than 10,000 plugins together. */
  readonly generations: (limit: number) => Promise<readonly GenerationView[]>
  /** Which tools may be called now, and with which generation that came. */
  readonly policy: () => Promise<{ readonly generation: number; readonly policy: ToolPolicy }>
  /** The exposure to MCP clients, and the generation that it is from: from a cache unless `latest` is asked for. */
  readonly exposed: (
    from?: 'latest',
  ) => Promise<{ readonly generation: number; readonly exposed: Exposure }>
  /**
   * When this is answered, calls under way that heard of a revocation have ended. Other isolates know of the change a
   * moment later (docs/decisions/0112-how-fast-a-change-holds.md).
   */
  readonly change: (change: PluginChange, by: ChangeBy) => Promise<ChangeResult>
}

/** A row of an installed plugin. */
export interface PluginRow {
  readonly id: string
  readonly version: string
  readonly hash: string
  readonly tier: TrustTier
  readonly state: PluginState
  readonly manifest: unknown
  readonly permit?: Permit
  /** The version that the permit is for. */
  readonly permitHash?: string
  readonly grantEpoch: number
  readonly config: JsonObject
  readonly problem?: { readonly code: string; readonly message: string }
  /**
   * The owner of the id and of the data stored under it; empty if nothing is stored. Absent if the plugin ships, or
   * shipped, with the deployment.
   */
  readonly owner?: string
  /** Hashes of newer versions that wait for an operator, newest first. */
  readonly waiting?: readonly string[]
  /** The version whose texts for models an operator has read. */
  readonly toldHash?: string
}

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

/** What a change writes besides rows of plugins. */
export interface ChangedParts {
  readonly version?: KeptPluginVersion
  /** A bundle that is not stored yet: with the rest, or not at all. */
  readonly bundle?: { readonly hash: string; readonly text: string }
  readonly servers?: readonly McpServerRow[]
  readonly skills?: readonly SkillRow[]
  readonly skillVersion?: SkillVersion
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
   * Hashes of bundles that came before a moment, and that since then nothing named: no row of a plugin or server, no
   * generation.
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
  readonly commit: (
    write: {
      readonly rows: readonly PluginRow[]
      readonly generation?: Generation & {
        readonly before: Generation
        readonly reason: string
      }
      readonly event: DeploymentEvent
      readonly view?: string | undefined
    } & ChangedParts,
  ) => Promise<PluginAfter>
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

/** A tool as clients see it, with the hints that the host goes by. */
export interface ListedTool extends ToolDefinition {
  readonly isReadOnly: boolean
  readonly isIdempotent: boolean
  readonly isDestructive: boolean | 'presumed'
}
